package codelia

// The texts of this dialect, each once. The texts that a requirement quotes verbatim stand
// first.
const (
	textBangEmpty   = "bang command is empty"
	textBangStarted = "bang exec started"
	textBangDone    = "bang exec done"
	textInvalid     = "invalid params"
	textBlockOpen   = "<shell_result>"
	textBlockClose  = "</shell_result>"
	originBang      = "ui_bang"
	originAgent     = "agent"
	logStart        = "shell.exec.start"
	logDone         = "shell.exec.done"
)

// Invalid parameters.
const (
	textCommand      = "command is required"
	textTimeout      = "timeout_seconds must be a positive number"
	textTimeoutMost  = "timeout_seconds must be at most %d for a task; leave it out for none"
	textWaitTimeout  = "wait_timeout_seconds must be a positive number"
	textCwd          = "cwd is outside the root directory: %s is not in %s"
	textNul          = "command and cwd must not contain NUL"
	textTaskID       = "task_id is required"
	textTask         = "shell task not found: %s"
	textStream       = "stream must be stdout or stderr"
	textLimit        = "limit must be a positive number"
	textLineAlone    = "line_number goes with char_offset and char_limit, not with offset or limit"
	textCharsAlone   = "char_offset and char_limit need line_number"
	textRef          = "ref_id is required"
	textPattern      = "pattern is required"
	textGrepNumbers  = "before and after must not be negative, and max_matches must be positive"
	textStdinMode    = "stdin_mode must be closed or pipe"
	textStdinDetach  = "stdin_mode pipe needs detached"
	textStdinClosed  = "the task has no standard input: %s"
	textStdinInvalid = "the standard input of the task is not valid any more: %s"
	textStdinMost    = "data has %d bytes; one write takes at most %d"
	textDenied       = "the command %q is denied"
	textRefused      = "the command was not confirmed"
	textKey          = "key is required"
	textKeyUnknown   = "no shell task has the key %s; shell_list lists them"
	textTool         = "the name of the tool is required"
	textToolUnknown  = "unknown tool: %s"
	textLabel        = "label has at most %d characters"
	textListed       = "limit must be from 1 to %d"
	textState        = "state must be queued, running, completed, failed or cancelled"
	textTailLines    = "tail_lines must be from 1 to %d"
	textStdinEmpty   = "text is empty; give one, or close"

	textToolTimeout     = "timeout must be a positive number of seconds"
	textToolTimeoutMost = "timeout must be at most %d seconds; a command that takes longer needs detached_wait"
	textToolTimeoutTask = "timeout must be at most %d seconds with detached_wait; leave it out for none"
	textToolWait        = "wait_timeout must be from 1 to %d seconds; call shell_wait again to wait longer"
)

// How tasks end, and why a request is refused.
const (
	textFailTimeout = "command timed out after %d seconds"
	textFailLimit   = "command output exceeded the capture limit of %d bytes"
	textFailCode    = "command exited with code %d"
	textFailSignal  = "command was ended by signal %s"
	textFailStart   = "command could not be started: %s"
	textFailLost    = "what became of the command is not known: %s"
	textCancelled   = "cancelled by a request"
	textCancelledBy = "cancelled: %s"
	textScopeEnded  = "the runtime's scope has ended"
	textOrphan      = "its runtime has died"
	textBusy        = "%d shell tasks are running, which is the limit; cancel one, or wait for one to end"
	textClosed      = "the runtime is shutting down"
	textNoWait      = "no shell.wait waits for shell task %s, so there is nothing to detach"
	textCaptured    = "its output outgrew the capture limit"
	textPressure    = "it took no input for 30 seconds"
)

// Cut outputs.
const (
	textUnread   = "[%s could not be read: %s]"
	textCutMark  = "...[truncated]"
	textCutLines = "...[%d lines omitted]..."
	textCutSize  = "...[%d bytes omitted: cut by size]..."
	textMessage  = "\n\n[The output was cut. All of it is in the tool output cache: ref_id=%s]"
)

// Texts of the cache tools.
const (
	textCacheSize    = "\n\n[Cut by size. Go on with offset=%d]"
	textCacheMore    = "\n\n[More lines follow. Go on with offset=%d]"
	textCacheLong    = "\n\n[Cut in width: line %s. tool_output_cache_line reads all of one]"
	textCacheMany    = "many"
	textCachePast    = "offset %d is past the end: the output has %d lines"
	textCacheError   = "the cached output %s cannot be read: %s"
	textCacheMissing = "there is no such output"
	textLineMissing  = "line_number %d is not in the output"
	textLineMore     = "[The line goes on. Go on with char_offset=%d]"
	textGrepNone     = "no line of %s matches: %s"
	textGrepLarge    = "line %d of %s matches, but is too large to show; read it with tool_output_cache_line"
	textGrepMore     = "[More lines match, from line %d on]"
	textGrepPattern  = "the pattern cannot be used: %s"
)

// Statuses of bang commands in the console.
const (
	sayStarted    = textBangStarted + ": %s"
	sayDone       = textBangDone + ": exit_code=%s, %d ms, %d queued for the next message"
	sayBusy       = "A command is still running."
	sayBusyDetach = "A command is still running. %s lets it go on in the background."
	sayDetached   = "The command goes on in the background: %s"
	sayError      = "shell.exec failed: %s"
	sayMoreLines  = "... %d lines more"
	sayMoreRef    = "... %d lines more, all of it under %s"
	sayRef        = "... all of it under %s"
)

// Descriptions of the tools and their parameters.
const (
	descShell       = "Runs a shell command and returns its exit code and output. Stdin is closed. With detached_wait it returns the key of a task that runs on, for the other shell tools."
	descShellList   = "Lists shell tasks, newest first: those that run, or also those that have ended."
	descShellStatus = "Shows the state of a shell task."
	descShellLogs   = "Shows the end of stdout or stderr of a shell task that runs or has ended, such as the stderr that the result of a success leaves out."
	descShellWait   = "Waits for the end of a shell task and returns its result, or that it is still running."
	descShellResult = "Returns the result of a shell task that has ended, or its state."
	descShellCancel = "Stops a shell task with everything it has started."
	descShellWrite  = "Writes to the stdin of a shell task that was started with detached_wait and stdin_mode pipe."

	descCache      = "Shows lines of a cached tool output: from offset on, or the first or the last ones."
	descLine       = "Shows a part of one long line of a cached tool output, by characters."
	descGrep       = "Finds the lines of a cached tool output that match a pattern."
	descRef        = "ref_id of the cached output"
	descOffset     = "lines to leave out at the beginning (0)"
	descLimit      = "lines to show"
	descHead       = "show the first lines"
	descTail       = "show the last lines"
	descLineNumber = "number of the line, from 1"
	descCharOffset = "characters of the line to leave out (0)"
	descCharLimit  = "characters to show (10000, at most 100000)"
	descPattern    = "text to look for"
	descRegex      = "the pattern is a regular expression"
	descBefore     = "lines to show before each match"
	descAfter      = "lines to show after each match"
	descMatches    = "lines that match, at most (50)"
)
