// Package web serves MCP over streamable HTTP: revision 2026-07-28, in which
// each request stands alone, and the older ones, which have sessions, at one
// address.
//
// It asks nobody who they are: stand it behind http.Guard, and only on a
// loopback address.
package web
