// Package mcpserve serves MCP clients on stdio or HTTP. Their jobs run in the daemon, or in
// this process.
//
//	codelia.go            the dialect codelia
//	copilot_opencode.go   the dialects copilot and opencode
//	dialect.go            makes the dialect of a client
//	omp.go                the dialect omp
//	serve.go              the flags of mcp, and serving
package mcpserve
