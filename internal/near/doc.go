// Package near finds the word that a misspelled one may have meant: of verbs and flags, of
// parameters of tools, and of fields and parameters of the HTTP API. One function decides for
// all of them.
//
//	word.go   the nearest of some words
package near
