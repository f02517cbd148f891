// Package opencode is the dialect of opencode: the tools bash and view (docs/requirements.md,
// dialect opencode). bash shows stdout and stderr apart; of a long output it shows the first
// and last 500 lines and saves all of it to a file that view reads in pages. Session implements
// the tools on a dialect.Host; it keeps a live shell for each directory. The functions without a
// context are pure.
//
//	bash.go           runs a command in the foreground
//	params.go         holds and checks the parameters
//	persist.go        copies a long output to a file and reads its ends
//	preview.go        renders a long output within the limits
//	result.go         renders a command that has ended
//	schema.go         makes the JSON Schemas of the tools
//	session.go        opens and closes a session, and lists its tools
//	settings.go       holds the settings and their defaults
//	tasks.go          runs, lists and stops background tasks
//	texts.go          holds the texts
//	view.go           shows a part of a file
//	workdir_shell.go  keeps a login shell for each directory
package opencode
