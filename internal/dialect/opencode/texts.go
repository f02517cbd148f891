package opencode

// The texts of this dialect, each once. The texts that a requirement quotes verbatim stand
// first.
const (
	textTotal     = "<%s truncated: %s lines total>"
	textSaved     = "Full output saved to: %s"
	textSavedCut  = textSaved + " (truncated at %s)"
	textUseView   = "Use the view tool with offset/limit to read specific sections."
	textFirst     = "--- First %d lines ---"
	textLast      = "--- Last %d lines ---"
	textGap       = "... [%s lines truncated] ..."
	textNet       = "\n\n[Output truncated due to size limit...]"
	textViewOpen  = "<file>"
	textViewClose = "</file>"
)

// Texts of calls that no requirement quotes.
const (
	textNoCommand     = "command is missing; give the command to run"
	textNoDescription = "description is missing; say in a few words what the command does"
	textBanned        = "the command %q is not allowed here"
	textExit          = "Exit code %d"
	textSignal        = "Exit code %d (signal %s)"
	textTimedOut      = "Command was aborted before completion: it took longer than %d ms"
	textAborted       = "Command was aborted before completion"
	textAbortedBy     = "Command was aborted before completion: %s"
	textNotStarted    = "Command could not be started: %s"
	textLost          = "What became of the command is not known: %s"
	textNotKept       = "%s bytes of %s were not kept"
	textUnread        = "%s could not be read: %s"
	textNoOutput      = "no output"
	textShellLost     = "[The shell of this directory was made anew: what earlier commands had set in it is lost]"
	textShellUnused   = "its shell is not used any more"
	textLogin         = "the start files of a login shell"
	textPromoted      = "The command was moved to the background by a person and goes on there; nothing more of it is told here"
)

// Texts of view.
const (
	textNoPath    = "file_path is missing; give the path of a file"
	textBadOffset = "offset is %d; the first line has offset 0"
	textMissing   = "File not found: %s"
	textSimilar   = "\n\nDid you mean one of these?\n%s"
	textDirectory = "Path is a directory, not a file: %s"
	textImage     = "This is an image, which view does not show: %s"
	textNoFile    = "Path cannot be read as a file: %s"
	textMore      = "(File has more lines. Use 'offset' parameter to read beyond line %d)"
	textPast      = "(The file has %d lines; offset %d is past its end)"
	textEmpty     = "(The file is empty)"
)

// Texts of background tasks.
const (
	textTaskStarted  = "Task %s started in the background. Its output goes to: %s\nYou are told when it ends; do not wait for it."
	textTaskNoFile   = "Task %s started in the background. No file could be made for its output.\nYou are told when it ends; do not wait for it."
	textTasksOff     = "Background tasks are disabled for this session; leave out run_in_background"
	textTaskFileCut  = "Not all of its output is in that file: %s"
	textTasksMany    = "%d background tasks are running, which is the limit; stop one with taskstop, or wait for one to end"
	textPureWait     = "Nothing was run: background tasks are still running (%s), and you are told when they end. Go on with something else, or end your turn."
	textTaskEnded    = "Background task %s (%s) has ended. %s\nIts output is in: %s"
	textTaskEndedNo  = "Background task %s (%s) has ended. %s"
	textTaskOK       = "Exit code 0"
	textNoTasks      = "There are no background tasks."
	textTaskLine     = "%s [%s] %s"
	textTaskMissing  = "There is no background task %s"
	textTaskStopped  = "Task %s is stopped."
	textTaskOver     = "Task %s has ended before."
	textNoTaskID     = "task_id is missing; tasklist names the tasks"
	stateRunning     = "running"
	stateCompleted   = "completed"
	stateFailed      = "failed"
	stateStopped     = "stopped"
	textCompletedTag = "task-completed"
	textSessionEnded = "its agent's session ended"
)

// Descriptions of the tools and their parameters.
const (
	descBash = "Runs a command in a login shell that each workdir has and keeps. stdout and stderr are shown apart. Of an output of more than %s lines or %s bytes the first %d and the last %d lines are shown; " +
		"the full output is saved to a file whose path is in the result: read any part of it with view, by offset and limit. " +
		"Variables and the current directory stay for the next command with that workdir; calls wait for each other."
	descBackground  = " With run_in_background it returns at once, and you are told of its end."
	descView        = "Shows lines of a file with their numbers, also of a saved output of any size. What is past the last line shown is read with offset."
	descCommand     = "the command to run"
	descTimeout     = "milliseconds until the command is ended (%d, at most %d)"
	descWorkdir     = "directory to run in; a relative one is below the session's"
	descDescription = "what the command does, in 5 to 10 words"
	descRunIn       = "run in the background: returns at once with a task_id"
	descPath        = "path of the file"
	descOffset      = "lines to leave out at the beginning (0)"
	descLimit       = "lines to show (%d)"
	descTaskList    = "Lists the background tasks of this session."
	descTaskStop    = "Ends a background task and all that it started."
	descTaskID      = "id of the task"
)
