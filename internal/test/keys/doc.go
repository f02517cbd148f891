// Package keys has the list of the integer keys of all structs that are stored, or sent to a
// keeper, in CBOR, and compares the structs with it.
//
//	check.go   Check, which a test calls with such structs
//
// keys.txt has a line for each key that a struct ever had. A key belongs to its field for ever:
// a new field gets a new one, whose line is added; a line is never changed.
package keys
