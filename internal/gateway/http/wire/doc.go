// Package wire has the names that the program used for the JSON of the HTTP API before package
// api and package messages had all of it.
//
//	list.go   former names of types, values and functions
package wire
