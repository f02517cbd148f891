// Package rpcserve serves the RPC protocols of dialects on stdin and stdout, or many clients
// on a Unix socket. Their jobs run in the daemon, or in this process.
//
//	client.go       the scope of a client, and the end of its jobs
//	codelia.go      JSON-RPC of codelia
//	listen.go       many clients on a socket
//	omp.go          the Agent Client Protocol
//	pi.go           JSON lines of pi
//	serve.go        the flags of rpc, and serving
package rpcserve
