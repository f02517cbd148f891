package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"troupe/internal/cli"
	"troupe/internal/cli/connect"
	"troupe/internal/cli/flags"
	"troupe/internal/cli/out"
)

func statsCommand(m *cli.Main) *cobra.Command {
	cmd := &cobra.Command{Use: "stats", Short: "Count jobs, sessions and connections of the daemon", Args: flags.NoArgs}
	return connect.NewCommand(m, cmd, nil, func(a *connect.Command) error {
		s, err := a.Stats(a.Ctx)
		switch {
		case err != nil:
			return err
		case a.JSON:
			return a.Object(s)
		}
		t := &out.Table{Head: []string{"NAME", "VALUE"}}
		for _, state := range slices.Sorted(maps.Keys(s.Jobs)) {
			t.Add("jobs "+string(state), strconv.Itoa(s.Jobs[state]))
		}
		t.Add("scopes", strconv.Itoa(s.Scopes))
		t.Add("sessions", strconv.Itoa(s.Sessions))
		t.Add("connections", strconv.Itoa(s.Connections))
		t.Add("subscriptions", strconv.Itoa(s.Subscriptions))
		t.Add("daemon", fmt.Sprintf("%s, process %d, up %s", s.Version, s.PID, out.Ago(time.Duration(s.UptimeMS)*time.Millisecond)))
		return out.PrintTable(m, t)
	})
}
