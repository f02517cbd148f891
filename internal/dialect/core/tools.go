package core

import "strings"

// Tool describes a tool to a model.
type Tool struct {
	Name, Title, Description string

	ReadOnly    bool // changes nothing
	Destructive bool // may end or overwrite something
	Idempotent  bool // a second call has no further effect
	OpenWorld   bool // may reach whatever a command can
}

// Tools returns the tools in the order in which they are listed. beside names other tools
// of the host.
func Tools(beside []string) []Tool {
	return []Tool{
		{Name: "run", Title: "Run a command", Destructive: true, OpenWorld: true, Description: runText + besides(beside)},
		{Name: "read", Title: "Read output", ReadOnly: true, Idempotent: true, Description: readText},
		{Name: "write", Title: "Write input", Destructive: true, OpenWorld: true, Description: writeText},
		{Name: "stop", Title: "Stop jobs", Destructive: true, Idempotent: true, Description: stopText},
		{Name: "list", Title: "List jobs", ReadOnly: true, Idempotent: true, Description: listText},
		{Name: "wait", Title: "Wait for jobs", ReadOnly: true, Idempotent: true, Description: waitText},
		{Name: "promote", Title: "Let a job go on in the background", Idempotent: true, Description: promoteText},
		{Name: "screen", Title: "Look at a terminal", ReadOnly: true, Idempotent: true, Description: screenText},
	}
}

const (
	runText = `Run a shell command and return its output, how it ended and its exit code. ` +
		`It waits up to wait_seconds; a command that takes longer goes on in the background, is never killed for that, and the result has its job_id. ` +
		`A command that waits for input is returned at once, so that you can write to it. ` +
		`Nothing it prints is lost: a long output is cut in the result and can be read in pages with read. ` +
		`Use session for commands that build on each other (cd, variables), interactive or pty for programs that ask, background for servers. ` +
		`When the call is cancelled, the command and all it has started are ended.`
	readText = `Read what a job has written: its end (the default), a page of lines (line, limit), its first or last lines (head, tail), ` +
		`or what follows a byte (from; next in each result is where to go on). Works while it runs and after it has ended.`
	writeText = `Write to the standard input or the terminal of a job that was run with interactive or pty, and return what it answers.`
	stopText  = `End jobs with all processes they have started: TERM, after a grace KILL. Returns when nothing of them is left, or names what is. With signal it only sends one.`
	listText  = `List the jobs and live shells of this client: those that run, or all.`
	waitText  = `Wait until jobs have ended, or their output matches a pattern, they listen on a port, are quiet or wait for input. ` +
		`Use this instead of sleeping or asking again and again. A wait that times out changes nothing; call it again.`
	promoteText = `Let a job whose call still waits for it go on in the background; that call returns at once.`
	screenText  = `Show what the terminal of a job shows now, as text (a job that was run with pty).`
)

// Instructions returns the text that tells a model how the tools belong together.
func Instructions(beside []string) string {
	return `Every command is a supervised job with an id. run waits for a short one; a longer one goes on in the background, and its end is told once, ` +
		`under notifications in the result of whatever tool you call next. To wait for it, call wait. Jobs end with this connection, ` +
		`unless they were run with detach. The person whose machine this is can watch, join and promote them with the command line troupe (troupe ps, troupe attach).` + besides(beside)
}

// besides names the host's tools that serve better than a command.
func besides(tools []string) string {
	if len(tools) == 0 {
		return ""
	}
	return " This host has other tools, which are better than a command for what they do: " + strings.Join(tools, ", ") + "."
}
