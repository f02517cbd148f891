package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
)

func statsCommand(m *Main) *cobra.Command {
	cmd := &cobra.Command{Use: "stats", Short: "Count what the daemon holds", Args: noArgs}
	return newDaemonCommand(m, cmd, nil, func(a *daemonCommand) error {
		s, err := a.Stats(a.ctx)
		switch {
		case err != nil:
			return err
		case a.json:
			return a.object(s)
		}
		t := &table{head: []string{"WHAT", "NUMBER"}}
		for _, state := range slices.Sorted(maps.Keys(s.Jobs)) {
			t.add("jobs "+string(state), strconv.Itoa(s.Jobs[state]))
		}
		t.add("scopes", strconv.Itoa(s.Scopes))
		t.add("sessions", strconv.Itoa(s.Sessions))
		t.add("connections", strconv.Itoa(s.Connections))
		t.add("subscriptions", strconv.Itoa(s.Subscriptions))
		t.add("daemon", fmt.Sprintf("%s, process %d, for %s", s.Version, s.PID, ago(time.Duration(s.UptimeMS)*time.Millisecond)))
		return printTable(m, t)
	})
}
