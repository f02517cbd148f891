package console

import (
	tea "charm.land/bubbletea/v2"

	"troupe/internal/dialect"
	"troupe/internal/dialect/codelia"
	"troupe/internal/dialect/omp"
	"troupe/messages"
)

// effects is what a Model does outside itself. Each method returns at once; its tea.Cmd, and the
// messages below, tell the model what has come of it.
type effects interface {
	// Bang runs a ! command of the user, Tool one as the tool bash of an agent does. id names the
	// execution in the messages.
	Bang(id int, command string) tea.Cmd
	Tool(id int, command string) tea.Cmd
	// Cancel stops an execution. Promote moves it to the background.
	Cancel(id int) tea.Cmd
	Promote(id int) tea.Cmd
	// Load reads the whole output of a job; Show draws the result of a tool with its whole output.
	Load(id int, job messages.JobID) tea.Cmd
	Show(id int, r dialect.Result, width int) tea.Cmd
	// Send sends a message. CancelSend gives up the one that is being sent.
	Send(text string) tea.Cmd
	CancelSend()
	// Complete finds the words that complete the last word of a command.
	Complete(command string) tea.Cmd
	// Key, Paste and Resize are for the overlay. They report whether the terminal took them: one
	// that reads nothing takes no more.
	Key(sequence []byte) bool
	Paste(text string) bool
	Resize(screen messages.Terminal) bool
}

// knownMsg says that a command runs as a job.
type knownMsg struct {
	id  int
	job messages.JobID
}

// outputMsg has the end of the output of an execution so far.
type outputMsg struct {
	id   int
	text string
	cut  bool // a part before it is not shown
}

// bangEndedMsg says how a ! command has ended. text is the end of its output, or the part of it
// that is known.
type bangEndedMsg struct {
	id     int
	job    messages.JobID // "": it did not become one
	result codelia.ExecResult
	err    error
	text   string
	cut    bool
}

// toolEndedMsg says how a call of the tool bash has ended, or that it goes on in the background:
// Details.Async of the result names its job then.
type toolEndedMsg struct {
	id     int
	result dialect.Result
	err    error
}

// progressMsg has the state of a background job of omp.
type progressMsg struct {
	job    string
	result dialect.Result
}

// noticeMsg says that a background job of omp has ended.
type noticeMsg struct{ delivery omp.Delivery }

// promotedMsg answers Promote.
type promotedMsg struct {
	id  int
	err error
}

// loadedMsg answers Load, shownMsg answers Show.
type loadedMsg struct {
	id   int
	text string
	cut  bool
	err  error
}

type shownMsg struct {
	id, width int
	rows      []string
}

// sentMsg answers Send. reply is what the command of --send has printed.
type sentMsg struct {
	reply string
	err   error
}

// completedMsg answers Complete: the words that command could end with.
type completedMsg struct {
	command string
	words   []string
}

// overlayMsg has a frame of the terminal of a command; closedMsg says that it has ended.
type overlayMsg struct{ frame omp.Frame }

type closedMsg struct{}

// resendMsg is the time to send a waiting message again.
type resendMsg struct{}
