// Package mcpinstall adds the MCP server of troupe to the file in which a host of agents
// lists its servers, and removes it. It changes one entry and keeps every other byte. A file
// that it does not understand stays as it is.
//
//	entry.go     the entry of troupe in such a file
//	host.go      the hosts, their files and what a user does next
//	install.go   Install and Uninstall
//	json.go      edits JSON, with comments too
//	lines.go     prints the lines that a change adds and removes
//	replace.go   reads and replaces a file
//	toml.go      edits TOML
package mcpinstall
