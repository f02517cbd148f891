// Package mcptest contains what the tests of the MCP gateway's packages share: a receive
// with a deadline.
//
//	within.go  Within and its deadline
package mcptest
