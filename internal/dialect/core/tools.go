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
// of the host. A model pays for every byte of them in each of its turns (decision 071): what
// several tools share is in Instructions.
func Tools(beside []string) []Tool {
	return []Tool{
		{Name: "run", Title: "Run a command", Destructive: true, OpenWorld: true, Description: runText + besides(beside)},
		{Name: "read", Title: "Read output", ReadOnly: true, Idempotent: true, Description: readText},
		{Name: "write", Title: "Write input", Destructive: true, OpenWorld: true, Description: writeText},
		{Name: "stop", Title: "Stop jobs", Destructive: true, Idempotent: true, Description: stopText},
		{Name: "list", Title: "List jobs", ReadOnly: true, Idempotent: true, Description: listText},
		{Name: "wait", Title: "Wait for jobs", ReadOnly: true, Idempotent: true, Description: waitText},
		{Name: "promote", Title: "Move a job to the background", Idempotent: true, Description: promoteText},
		{Name: "screen", Title: "Show a terminal", ReadOnly: true, Idempotent: true, Description: screenText},
	}
}

const (
	runText = `Run a shell command; returns its output and how it ended. ` +
		`After wait_seconds it goes on in the background. One that waits for input returns at once: use write. ` +
		`Of a long output the end is shown; read shows the rest. ` +
		`Use session for commands that build on each other, interactive or pty for programs that ask, background for servers.`
	readText    = `Show output of a job, running or ended: its end, a page, first or last lines, or what follows a byte.`
	writeText   = `Write to a job run with interactive or pty, and show what it answers.`
	stopText    = `End jobs and all they have started: TERM, then KILL. Returns when nothing is left, or names what is.`
	listText    = `List live shells and running jobs.`
	waitText    = `Wait until jobs end, print a pattern, listen on a port, are quiet or wait for input. Use it instead of sleeping. A timeout changes nothing.`
	promoteText = `Move a job to the background whose call still waits for it.`
	screenText  = `Show what the terminal of a job shows now.`
)

// Instructions returns the text that tells a model how the tools belong together.
func Instructions(beside []string) string {
	return `Every command is a supervised job with an id. run waits for a short one; a longer one goes on in the background, and its end is told once, ` +
		`under notifications in the result of whatever tool you call next. To wait for it, call wait. A call that is cancelled ends its command. Jobs end with this connection, ` +
		`unless they were run with detach. The person whose machine this is can watch, join and promote them with the command line troupe (troupe ps, troupe attach).` + besides(beside)
}

// besides names the host's tools that serve better than a command.
func besides(tools []string) string {
	if len(tools) == 0 {
		return ""
	}
	return " This host has other tools, which are better than a command for what they do: " + strings.Join(tools, ", ") + "."
}
