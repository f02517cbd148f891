// Command mcpfixtures serves what the conformance suite of MCP expects: tools, resources
// and prompts of fixed names, one for each feature of the protocol. They run no commands
// and are not part of the server for agents. Its test runs the suite against it.
//
//	contents.go   each kind of content
//	forms.go      questions to the user, for revisions with sessions
//	main.go       serves the fixtures
//	prompts.go    prompts
//	resources.go  resources
//	revision.go   features of single revisions
//	rounds.go     tools that take several rounds
//	seal.go       signed states between rounds
//	server.go     the server with all fixtures, and helpers
//	talk.go       messages before the answer
//	tasks.go      answers that are tasks
package main
