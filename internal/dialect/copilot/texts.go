package copilot

// The texts of this dialect for models and people, each once. The texts that a requirement
// quotes verbatim stand first.
const (
	textTooLarge = "Output too large"
	textMoved    = "moved to background"
)

// Invalid parameters.
const (
	textMissing      = "%s is required"
	textEmptyCommand = "The command is empty. Give the command to run."
	textBadMode      = "mode is %q; it must be sync or async"
	textBadWait      = "initial_wait is %s; it must be more than 0 and at most 600 seconds (0..600)"
	textBadDelay     = "delay is %s; it must be in the range 0..600 seconds"
	textBadShellID   = "shellId must be one line of at most %d bytes"
	textEmptyInput   = "The input is empty. Give text, or keys such as {enter}."
	textNoID         = "The shellId is empty. Name the shell to stop."
)

// The status lines at the end of a result, in angle brackets. No requirement quotes them.
const (
	statusExit       = "<exited with exit code %d>"
	statusCompleted  = "<command with shellId: %s completed with exit code %s>"
	statusEnded      = "<command with shellId: %s exited with code %d; its shell is closed>"
	statusError      = "<command with shellId: %s exited with the error: %s>"
	statusRunning    = "<command with shellId: %s is still running after %s seconds. %s>"
	statusMoved      = "<command with shellId: %s was " + textMoved + " by the user. %s The user has seen this already: do not reply about it, and make no further tool call for this command>"
	statusMovedRead  = "<command with shellId: %s was " + textMoved + " by the user and is still running after %s seconds. Answer the user now>"
	statusStarted    = "<command started in background with shellId: %s>"
	statusDetached   = "<command started in detached background with shellId: %s>\nIts output goes to %s"
	statusDetachedOn = "<detached command with shellId: %s is still running after %s seconds; all its output is in %s>"
	statusBusy       = "<a command with shellId: %s is already running. Use %s to wait for it, or %s to stop it>"
	statusUnsent     = "<no command with shellId: %s takes input now: the input was not sent>"
	statusStopped    = "<command with shellId: %s stopped>"
	statusGone       = "<detached command with shellId: %s is gone already: nothing was stopped>"
	statusStart      = "<the command was not started: %s>"
)

// Hints for a running command. The arguments are the names of its tools.
const (
	hintOutput   = "If the output shows that it waits for input, use %[2]s to give it some; otherwise use %[1]s to wait on, or %[3]s to stop it."
	hintSilent   = "It has written nothing: it may wait for input, or still be working. Use %[2]s to give it input, %[1]s to wait on, or %[3]s to stop it."
	hintOutputNo = "Use %[1]s to wait on, or %[3]s to stop it."
	hintSilentNo = "It has written nothing yet and may still be working. Use %[1]s to wait on, or %[3]s to stop it."
	hintNotice   = "You will be told when it ends."
	hintNoNotice = "You will not be told when it ends."
)

// Large outputs.
const (
	textLarge = textTooLarge + " to read at once (%s). It was saved to: %s\n" +
		"Use grep on that file to find something, head or tail for its ends, view with a range of lines, or jq if it is JSON.\n\n" +
		"Preview (the first %d characters):\n%s"
	textLargeLost = textTooLarge + " to read at once (%s), and no file could be written. Run the command again with its output in a file, and use grep, head, tail, view with a range, or jq on that.\n\n" +
		"Preview (the first %d characters):\n%s"
)

// Missing shells.
const (
	missStopped   = "The shell with id %s was stopped."
	missExited    = "The shell with id %s was shut down: its command exited with code %d."
	missError     = "The shell with id %s was shut down by an error of its command."
	missCompleted = "The shell with id %s has completed."
	missCode      = "The shell with id %s has completed with exit code %d."
	missReclaimed = "The shell with id %s was reclaimed, since it was not used."
	missGone      = "The shell with id %s is no longer available."
	missUnknown   = "Invalid shell id %s: no such shell was ever created, so there is nothing to %s."
	missActive    = "Active shell sessions:"
	missNone      = "<no active shell sessions>"
	missLine      = "- %s: %s"
)

// Operations on a shell, as in missUnknown.
const (
	verbRead  = "read"
	verbWrite = "send input to"
	verbStop  = "stop"
)

// The list.
const (
	listNone     = "<no active shell sessions>"
	listLine     = "- shellId: %s, pid: %s, mode: %s, attachment: %s, status: %s, elapsed: %d s, commands: %d, unread output: %s"
	listCommand  = "  command: %s"
	listUnknown  = "unknown"
	listRunning  = "running"
	listEnded    = "completed with exit code %s"
	listStopped  = "stopped"
	listFailed   = "failed: %s"
	progressNone = "No output yet."
	progressBad  = "The output cannot be read."
)

// Notices of ends.
const (
	noticeDone     = "The command %q (id %s) completed. Use %s with this id to get its output."
	noticeExit     = "The command %q (id %s) exited with code %s. Use %s with this id to get its output."
	noticeDetached = "The detached command %q (id %s) completed. Use %s to see it."
	noticeDetExit  = "The detached command %q (id %s) exited with code %s. Use %s to see it."
	shortDone      = "%s: completed"
	shortExit      = "%s: exit code %s"
	codeUnknown    = "unknown"
)

// Why a command could not run, or how else it ended.
const (
	whyClosed    = "the session has ended"
	whyTooMany   = "%d shells are running; stop one first"
	whyQueue     = "too many calls wait for the shell with id %s"
	whyInit      = "the shell could not be set up: %s"
	whyInitCode  = "its init ended with code %d"
	whyInitTime  = "its init took longer than %s"
	whyStopped   = "it was stopped"
	whyStoppedBy = "it was stopped: %s"
	whySignal    = "it was ended by signal %s"
	whyLost      = "what became of it is not known"
	whyTime      = "it ran out of time"
	noteReplaced = "The shell had ended and was made anew: directory, variables and functions from before are lost."
	noteScreen   = "The program takes the whole screen: this is its screen, not its output."
	noteUntaken  = "Not all of the input was read yet."
)

// Descriptions of the tools and their parameters.
const (
	descExecute = "Runs a command in a %s shell. sync (the default) waits for its end, but no longer than initial_wait: then it goes on in the background. " +
		"async returns at once; with detach the command goes on when this session ends, and its output goes to a file. " +
		"A shellId of your own keeps a shell for the next async command: its directory and variables stay."
	descSpawn = "Runs a command in a %s process of its own. sync (the default) waits for its end, but no longer than initial_wait: then it goes on in the background. " +
		"async returns at once; with detach the command goes on when this session ends, and its output goes to a file. " +
		"Shell state does not persist: each command begins in the session's directory, without the variables of others, and takes no input."
	descRead        = "Reads the output of a command that is in the background. It waits for its end, but no longer than delay."
	descWrite       = "Gives input to a command that runs in a shell, and reads its output. Keys are {up}, {down}, {right}, {left}, {enter} and {backspace}."
	descStop        = "Stops a command and its shell, and all that it started."
	descList        = "Lists the shells: what runs in them, and whether there is output that was not read."
	descCommand     = "the command to run"
	descDescription = "what the command is for; at most 100 characters"
	descShellID     = "id of the shell; left out, a new one is made"
	descMode        = "sync waits for the end, async returns at once"
	descDetach      = "with async: the command goes on when the session ends"
	descInitialWait = "seconds to wait for the end of a sync command, at most 600; less than %s is %[1]s"
	descDelay       = "seconds to wait for the end, 0 to 600"
	descDelayWrite  = "seconds to wait for the end behind the input, 10 to 600"
	descInput       = "text and keys; a line end is the key enter"
	descTheShell    = "id of the shell"
)
