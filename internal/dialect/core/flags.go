package core

import (
	"strings"

	"troupe/messages"
)

// flagWords gives the text for a flag. A flag without one is shown by its name.
var flagWords = map[messages.Flag]string{
	messages.FlagReplaced:       "the shell of the session was made anew for this command: what was set in the one before is lost",
	messages.FlagSessionEnded:   "the shell of the session ended with this command; the next one has a new one",
	messages.FlagErrexit:        "set -e ended the command; the shell of the session goes on, and set -e still holds",
	messages.FlagBackground:     "what earlier commands left in the background may have written between",
	messages.FlagNoFence:        "the end of the output was not seen, and is where it was quiet",
	messages.FlagNoSnapshot:     "the shell knows nothing of what its user has set up",
	messages.FlagLogBlocked:     "its output waited for room on the disk",
	messages.FlagLogTampered:    "its log was changed from outside",
	messages.FlagLogUnlinked:    "its log was deleted, and made anew",
	messages.FlagTreeUnverified: "only its process group could be ended: what left that may still run",
	messages.FlagKept:           "a person has promoted it: it stays when this client leaves",
	messages.FlagClientGone:     "it was ended because its client went away",
}

// flags returns the texts of the record's flags.
func (r JobRecord) flags() []string {
	var lines, names []string
	for _, name := range r.Flags {
		if words := flagWords[messages.Flag(name)]; words != "" {
			lines = append(lines, words)
			continue
		}
		names = append(names, name)
	}
	if len(names) > 0 {
		lines = append(lines, "flags: "+strings.Join(names, ", "))
	}
	return lines
}
