package omp

// The texts of this dialect for models and people, each once. The texts that a requirement
// quotes verbatim stand first.
const (
	textEnvName    = "Invalid bash env name: %s"
	textAsyncOff   = "Async bash execution is disabled"
	textNoManager  = "Async job manager unavailable for this session."
	textNoOutput   = "(no output)"
	textExit       = "Command exited with code %d"
	textNoStatus   = "Command failed: missing exit status"
	textTimedOut   = "Command timed out after %s seconds"
	textFull       = "Full: artifact://%s"
	textRaw        = "[raw output: artifact://%s]"
	textPTYError   = "PTY error: %s"
	textJobStarted = "Background job %s started: %s"
	customType     = "async-result"
)

// Texts of calls that no requirement quotes.
const (
	textAsyncOffHow   = textAsyncOff + ". Leave out async, or enable it in the settings: async.enabled."
	textAborted       = "Command aborted"
	textCancelled     = "Command cancelled"
	textCancelledBy   = "Command cancelled: %s"
	textTimedOutAny   = "Command timed out"
	textHardTimeout   = "Command did not end within %s seconds, its timeout and the time to end it; it was left behind"
	textWallTime      = "Wall time: %.2f seconds"
	textClamped       = "Timeout: %s seconds asked for, %s seconds used (allowed: %s to %s)"
	textClampedOpen   = "Timeout: %s seconds asked for, %s seconds used (allowed: %s to %s, 0 for none)"
	textShellReplaced = "The shell was made anew for this command: directories, variables and functions that earlier commands had set are lost"
	textUnread        = "The output could not be read: %s"
	textNotKept       = "%s of the output were not kept: it outgrew its quota"
	textClientCut     = "The client's terminal kept only the end of the output"
	textNotStarted    = "Command could not be started: %s"
	textLost          = "What became of the command is not known: %s"
	textSpilled       = "[Only the end is shown: %s of %s. " + textFull + "]"
	textSpilledNoFile = "[Only the end is shown: %s of %s]"
)

// textNoLimits refuses parameters that the settings turn off.
const textNoLimits = "head and tail are no parameters of this session; they are enabled by the setting bash.stripTrailingHeadTail"

// Texts of truncation.
const (
	textShowing      = "Showing lines %d-%d of %d"
	textShowingNone  = "Showing %d of %d lines"
	textByteLimit    = " (%s limit)"
	textNextOffset   = "Use offset=%d to continue"
	textHiddenLines  = "… %d lines hidden, %d of %d shown (%s to expand)"
	textFooter       = "Timeout: %ss"
	textFooterAsked  = "Timeout: %ss (asked for %ss)"
	textFooterNone   = "Timeout: none"
	textWarnArtifact = "Output truncated by %s: artifact://%s has all of it"
	textWarn         = "Output truncated by %s"
	textTooMuchToSee = "… the first %s of artifact://%s are not shown"
)

// Texts of background jobs.
const (
	textJobHow = "Its result comes by itself when it ends. The job tool shows it (list: true) or waits for it (poll: [\"%s\"]); " +
		"until then other work is a better use of the time."
	textJobLimit       = "The limit of %d background jobs is reached. Wait for one to end, or cancel one with the job tool."
	textJobsDisposed   = "The job manager has ended; no job can be started any more."
	textJobLost        = "What became of the job is not known: %s"
	textDelivered      = "Background job %s (%s) has %s. Resume the work that waited for it. Its result:\n\n%s"
	textDeliveredCut   = "\n\n[Cut: the first %d of %d characters. The rest is in artifact://%s]"
	textDeliveredNo    = "\n\n[Cut: the first %d of %d characters]"
	textListAlone      = "list shows all jobs and does nothing else: leave out poll and cancel, or leave out list"
	textJobsOff        = "Background jobs are disabled for this session. They are enabled by the settings async.enabled and bash.autoBackground.enabled."
	textNothingRuns    = "No background job is running; there is nothing to wait for."
	textNoJobs         = "There are no background jobs."
	textNoneMatch      = "None of these is a job of this session: %s"
	textNotFound       = "- %s: no such job"
	textAlready        = "- %s: has ended before (%s)"
	textJobCancelled   = "- %s: cancelled"
	textHeadCancelled  = "## Cancelled (%d)"
	textHeadRefused    = "## Not cancelled (%d)"
	textHeadMissing    = "## Not found (%d)"
	textHeadEnded      = "## Completed (%d)"
	textHeadRunning    = "## Still running (%d)"
	textJobLine        = "### %s [%s] %s\n%s"
	textJobErrorLine   = "Error:"
	textJobStopped     = "its job was cancelled"
	textPromoted       = "A person has let the command go on in the background. Nothing more will be told of it here."
	textReady          = "It is ready."
	textReadyLate      = "It was not ready within %s seconds; it goes on."
	textReadyEnded     = "It has ended, and was never ready."
	textNotReady       = "Whether it is ready is not known: %s"
	textWaitWindowOver = "The time to wait is over; the jobs go on."
)

// Descriptions of the tools and their parameters.
const (
	descBash = "Runs one shell command and returns its output, stdout and stderr together. Past 50 KB the end is shown, and artifact://<id> has all. " +
		"A command that exits with a code other than 0 is an error result that ends with that code."
	descLive    = " The calls run one after another in one shell: variables and functions stay, but each call begins in the session's directory or in its cwd."
	descJob     = "Shows, waits for or cancels background jobs. Without arguments it waits for all that run."
	descCommand = "text of one shell command; a leading cd <path> && becomes cwd if that is left out"
	descEnv     = "variables for the command; the values are never read as shell text"
	descTimeout = "seconds until the command is ended (300, from 1 to 3600)"
	descNoLimit = "; 0: never"
	descName    = "run it as a service in the background, under this name"
	descReady   = "wait until the service is ready"
	descLog     = "its output matches this"
	descPort    = "it listens on this port"
	descHost    = "host of the port"
	descWithin  = "seconds to wait at most (30)"
	descCwd     = "directory to run in; a relative one is below the session's"
	descPty     = "run on a terminal that a person sees, where there is one"
	descAsync   = "run in the background: returns at once with a job id"
	descHead    = "show only the first lines of the output"
	descTail    = "show only the last lines of the output"
	descList    = "show all jobs, and do not wait"
	descPoll    = "ids of jobs to wait for, until one of them ends"
	descCancel  = "ids of jobs to end"
)

// Texts of the console.
const (
	textConsole     = "Console"
	textBadgeRuns   = "running"
	textBadgeCode   = "exited with code %d"
	textBadgeNoCode = "exited without a code"
	textBadgeTime   = "timed out"
	textBadgeKilled = "killed"
	textFooterRuns  = "Esc kills the command; all other keys go to it"
	textFooterOver  = "Finished"
	textKilledHere  = "killed at its console"

	iconRunning = "▶"
	iconDone    = "✓"
	iconFailed  = "✗"
)
