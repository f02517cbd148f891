// Package dialectconfig applies the configuration to dialects: it checks the settings, and
// opens sessions of omp, for MCP servers, RPC servers and consoles.
//
//	codelia.go            the options of sessions of codelia
//	omp.go                opens sessions of the dialect omp
//	settings_checker.go   checks the settings of a dialect
package dialectconfig
