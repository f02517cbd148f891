package dialect

// Intent is a command that a user or an agent wants to run.
type Intent struct {
	Text   string   // the command as it was written
	Argv   []string // what the dialect runs for it
	Dir    string   // absolute path without symbolic links
	Origin string   // who wants it, as the dialect names it in its log
}

// Permit says how a command runs.
type Permit struct {
	Argv []string
	// Backend is messages.BackendPipe, or messages.BackendPTY for a command that needs a
	// terminal.
	Backend string
}

// Policy decides whether and how a command may run. A sandbox is one: it wraps the command and
// chooses the backend. Rules that look at directories and words are another, and no sandbox. A
// Policy is safe for concurrent use.
type Policy interface {
	// Allow returns how a command runs. The error says why it may not; the client sees it.
	Allow(i Intent) (Permit, error)
}
