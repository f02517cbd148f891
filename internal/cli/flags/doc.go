// Package flags parses what users type: values of flags, arguments of verbs, and the errors
// of both. It prints the help of a verb.
//
//	args.go     the number of arguments of a verb
//	errors.go   errors of flags, and whether they are printed as JSON
//	help.go     the text of a help
//	near.go     the word that a typed one may have meant
//	value.go    durations, sizes, numbers and words
package flags
