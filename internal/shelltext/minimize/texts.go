package minimize

// Texts that replace what was removed from an output.
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

// Errors of a file of filters.
const (
	textTooLong        = "the filters are over %d bytes long"
	textUnknownKey     = "unknown key %s"
	textNoCommand      = "filter %s has no match_command"
	textBadPattern     = "filter %s: invalid regular expression %s: %s"
	textBadExit        = "filter %s: only_on_exit is an exit status or a list of them"
	textBadReplacement = "filter %s: a replacement is over %d bytes long"
	textBadMaxLines    = "filter %s: max_lines is negative"
)
