package minimize

// What is put into an output in the place of what was taken out.
const (
	textOK      = "OK\n"
	textCut     = "[%d lines left out]"
	textAgain   = "[the line above, %d more times]"
	textSame    = "[%d more lines with the same bytes]"
	textPassed  = "[tests that passed: %d]"
	textOkay    = "[packages that passed: %s]"
	textLocked  = "[%d lines added and %d removed in this lock file]"
	textLonger  = "… [%d more characters]"
	textEntries = "%s/: %s"
)

// What is said of a file of filters that cannot be used.
const (
	textTooLong        = "the filters are over %d bytes long"
	textUnknownKey     = "unknown key %s"
	textNoCommand      = "filter %s has no match_command"
	textBadPattern     = "filter %s: %s is no regular expression: %s"
	textBadExit        = "filter %s: only_on_exit is an exit status or a list of them"
	textBadReplacement = "filter %s: a replacement is over %d bytes long"
	textBadMaxLines    = "filter %s: max_lines is negative"
)
