package main

import (
	"github.com/spf13/cobra"

	"troupe/messages"
)

// What the verbs that are not there yet wait for.
const (
	needsInit    = "the role of a container's first process is not there yet"
	needsGateway = "the protocols for agents are not there yet"
	needsConsole = "the console is not there yet"
	needsChaos   = "fault plans can only be used in tests so far"
)

// missingVerbs are the verbs of the design without their parts.
var missingVerbs = map[string]string{
	"init": needsInit,
	"rpc":  needsGateway, "console": needsConsole, "chaos": needsChaos,
}

// missing are commands that say why they do nothing. The help does not list them.
func (m *Main) missing() []*cobra.Command {
	var verbs []*cobra.Command
	for name, why := range missingVerbs {
		verbs = append(verbs, &cobra.Command{
			Use: name, Hidden: true, DisableFlagParsing: true,
			RunE: func(*cobra.Command, []string) error {
				return unsupported(name, "troupe "+name+" does nothing yet: "+why, "troupe run works without it")
			},
		})
	}
	return verbs
}

func unsupported(reason, message, hint string) *messages.Error {
	return &messages.Error{Code: messages.Unsupported, Reason: reason, Message: message, Hint: hint}
}
