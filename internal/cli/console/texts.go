package console

// The keys that texts name.
const (
	keyExpand  = "Ctrl+O"
	keyPromote = "Ctrl+B"
)

// Texts of executions.
const (
	textRunning       = "… running: Esc ends it, " + keyPromote + " lets it go on in the background"
	textOnTerminal    = "… running on the terminal below"
	textInBackground  = "… running in the background"
	textCancelled     = "✗ cancelled"
	textExited        = "%s exited with code %d after %d ms"
	textDone          = "✓ done"
	textFailedTool    = "✗ failed"
	textHidden        = "… %d lines hidden (%s to expand)"
	textHiddenMore    = "… %d lines and more hidden (%s to expand)"
	textHiddenSome    = "… the lines before are hidden (%s to expand)"
	textFirstMissing  = "… the beginning is not shown: troupe logs %s has all of it"
	textClamped       = " … +%d columns"
	textCutStream     = "Output truncated: the message gets the beginning and the end of %s, all of it is in the cache as %s"
	textCutStreamGone = "Output truncated: the message gets the beginning and the end of %s"
	textWasCancelled  = "was cancelled"
	textWasExited     = "exited with code %d"
	textWasDone       = "is done"
	textWasFailed     = "has failed"
)

// Statuses and notices.
const (
	textBusyEsc      = " Esc ends it."
	textNoTarget     = "There is nothing to send messages to: start the console with --send. Results stay queued."
	textSending      = "sending"
	textSent         = "sent, with %s"
	textSentAlone    = "sent"
	textNotSent      = "not sent: %v; %s kept for the next message"
	textNotSentAlone = "not sent: %v"
	textSendAgain    = "not sent: %v; it is sent again"
	textTextBack     = "; ↑ brings the text back"
	textWaits        = "waits until the message before it is sent"
	textWaitsFull    = "%d messages wait to be sent: wait until one is"
	textApart        = "not this one"
	textEnded        = "In the background, %s %s"
	textNotPromoted  = "cannot move the command to the background: %v"
	textNotLoaded    = "cannot read the output: %v"
	textNothingRuns  = "No command runs"
	textNothingHere  = "There is no command to expand"
	textKeysLost     = "The command reads no keys: some are lost"
	textNoWords      = "no completion"
	textLeaving      = "%s: once more to leave"
	textLeavingRuns  = "a command runs and ends with the console"
	textLeavingQueue = "%s not sent"
	textLeavingSend  = "a message is not sent"
)

// Titles and the hints below the composer.
const (
	titleMessage = "message"
	titleBang    = "! command: its result goes with the next message"
	titleApart   = "!! command: its result goes with no message"
	titleTool    = "$ command on a terminal"
	titleToolNo  = "$ command, as an agent runs it"
	hintMessage  = "Enter sends · ! command · !! apart · Ctrl+T terminal · ↑ history · Ctrl+D leaves"
	hintCommand  = "Enter runs · Tab completes · Esc on an empty line: message · ↑ history"
	hintRunning  = "Esc ends it · Ctrl+B background · Ctrl+O expand · PgUp PgDn scroll"
)
