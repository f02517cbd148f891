// Command mcpfixtures serves what the conformance suite of MCP expects to find: tools,
// resources and prompts of fixed names, each of which shows one thing that the protocol
// can do. They run no commands, and none of them is part of what agents are served. Its
// test runs the suite against it.
package main
