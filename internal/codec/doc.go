// Package codec is the encoding of everything that is stored, and of what a keeper is sent: CBOR
// (RFC 8949) of structs, mostly of package messages, with the integer keys of their cbor tags. A key belongs to its field for
// ever. A reader passes over keys that it does not know, which a newer troupe has written.
//
//	encode.go   the encoding and its strictness
package codec
