// Package urls turns the internal URLs of a call, such as skill://review or
// local://notes.md, into file paths before anything runs. It decides by text and asks
// the file system through shelltext.Files.
//
//	artifact.go    artifact://
//	decode.go      percent-encoding; names that must stay below a root
//	directory.go   agent://, plan://, memory:// and rule://
//	expand.go      replacing the URLs of a call
//	find.go        finding URLs in a text
//	heredoc.go     here-documents; quoting of a path
//	local.go       local://
//	scanner.go     shell context of a place in a command
//	skill.go       skill://
//	texts.go       texts and errors
//	url.go         URL, Router and resolution
package urls
