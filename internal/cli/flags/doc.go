// Package flags parses what users type: values of flags, arguments of verbs, and the errors
// of both. It prints the help of a verb, and that of a topic.
//
//	args.go     the number of arguments of a verb
//	errors.go   errors of flags, and whether they are printed as JSON
//	help.go     the text of a help
//	near.go     the flag that a typed one may have meant
//	section.go  sections of the documents, in blocks
//	topic.go    the topics of troupe help, which are such sections
//	value.go    durations, sizes, numbers and words
package flags
