// Package mcpserve serves MCP clients on stdio or HTTP. Their jobs run in the daemon, or in
// this process. Settings are checked before the server starts.
//
//	copilot_opencode.go   the dialects copilot and opencode
//	dialect.go            makes the dialect of a client
//	host.go               the daemon as the host of jobs
//	lease.go              the scope lease of a client
//	omp.go                the dialect omp
//	serve.go              the flags of mcp, and serving
//	settings_checker.go   checks the settings of a dialect
//	user_path.go          the PATH of the user's shell
package mcpserve
