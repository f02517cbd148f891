package main

import (
	"github.com/spf13/cobra"

	"troupe/messages"
)

// missingVerbs are the planned verbs that are not built: what each waits for, and which verb
// does something similar.
var missingVerbs = map[string]struct{ waits, instead string }{
	"init":    {"the role of a container's first process is not there yet", "troupe run works without it"},
	"rpc":     {"the protocols of agents but MCP are not there yet", "troupe mcp serves agents that speak that"},
	"console": {"the console is not there yet", "troupe ps, logs and attach show what there is"},
	"chaos":   {"fault plans can only be used in tests so far", "troupe run works without them"},
}

// missing are commands that say why they do nothing. The help does not list them.
func (m *Main) missing() []*cobra.Command {
	var verbs []*cobra.Command
	for name, of := range missingVerbs {
		verbs = append(verbs, &cobra.Command{
			Use: name, Hidden: true, DisableFlagParsing: true,
			RunE: func(*cobra.Command, []string) error {
				return unsupported(name, "troupe "+name+" does nothing yet: "+of.waits, of.instead)
			},
		})
	}
	return verbs
}

func unsupported(reason, message, hint string) *messages.Error {
	return &messages.Error{Code: messages.Unsupported, Reason: reason, Message: message, Hint: hint}
}
