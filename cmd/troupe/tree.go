package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"troupe/internal/gateway/http/wire"
	"troupe/messages"
)

func (m *Main) scopesCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "scopes [flags] [PATH]", Short: "List the owners of jobs", ValidArgsFunction: oneByOne(m.scopePaths), Args: func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return exactly(cmd, args, "PATH")
	}}
	at := ""
	check := func(a *daemonCommand) error {
		if len(a.args) == 0 {
			return nil
		}
		at = a.args[0]
		return checkScope(a, "", at)
	}
	return m.daemonCommand(cmd, check, func(a *daemonCommand) error {
		list, err := a.Scopes(a.ctx, messages.ScopePath(at))
		if err != nil {
			return err
		}
		object := wire.ScopeList{V: wire.Version, Scopes: []wire.Scope{}}
		t := &table{head: []string{"SCOPE", "JOBS", "SESSIONS", "AT MOST"}}
		for _, s := range list {
			object.Scopes = append(object.Scopes, wire.Scope{Path: s.Path, Jobs: s.Jobs, Sessions: s.Sessions, Quota: wire.ScopeQuota(s.Quota)})
			t.add(string(s.Path), strconv.Itoa(s.Jobs), strconv.Itoa(s.Sessions), quotaText(s.Quota))
		}
		if a.json {
			return a.object(object)
		}
		return m.print(t)
	})
}

func quotaText(q messages.ScopeQuota) string {
	var parts []string
	if q.Jobs > 0 {
		parts = append(parts, plural(q.Jobs, "job"))
	}
	if q.Sessions > 0 {
		parts = append(parts, plural(q.Sessions, "session"))
	}
	return strings.Join(parts, ", ")
}

func (m *Main) handoverCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "handover [flags] JOB SCOPE", Short: "Give a live job to another owner", ValidArgsFunction: oneByOne(m.jobIDs(false, 1), m.scopePaths),
		Args: func(cmd *cobra.Command, args []string) error { return exactly(cmd, args, "JOB", "SCOPE") },
		Long: "Move a live job to the default session of another scope. Its process does not\nnotice.",
	}
	check := func(a *daemonCommand) error { return checkScope(a, "", a.args[1]) }
	return m.daemonCommand(cmd, check, func(a *daemonCommand) error {
		return a.done(a.HandOver(a.ctx, messages.HandOver{Job: messages.JobID(a.args[0]), To: messages.ScopePath(a.args[1])}))
	})
}

func (m *Main) rmCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "rm [flags] JOB...", Short: "Forget finished jobs and their output", Args: someJobs, ValidArgsFunction: m.jobIDs(true, 0),
	}
	return m.daemonCommand(cmd, nil, func(a *daemonCommand) error {
		ids := make([]messages.JobID, len(a.args))
		for i, id := range a.args {
			ids[i] = messages.JobID(id)
		}
		gone, refused, err := a.RemoveAll(a.ctx, ids)
		all := removed{JobList: wire.JobList{V: wire.Version, Jobs: wire.Jobs(gone), Tasks: []messages.Task{}}}
		for _, e := range refused {
			all.add(e)
		}
		if err != nil {
			all.add(connected(err))
		}
		return a.together(all, all.failures)
	})
}

// removed is what was forgotten of several jobs, in their order.
type removed struct {
	wire.JobList
	failures
}

func (m *Main) statsCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "stats", Short: "Count what the daemon holds", Args: noArgs}
	return m.daemonCommand(cmd, nil, func(a *daemonCommand) error {
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
		return m.print(t)
	})
}

func (m *Main) shutdownCommand() *cobra.Command {
	var stopJobs bool
	grace := durationFlag{name: "grace", zero: true}
	cmd := &cobra.Command{
		Use: "shutdown [flags]", Short: "End the daemon", Args: noArgs,
		Long: `End the daemon. Its jobs live on, if the keeper holds them; else they would end
with it, and it goes on as long as there are any.`,
	}
	cmd.Flags().BoolVar(&stopJobs, "stop-jobs", false, "end all jobs first")
	cmd.Flags().Var(&grace, "grace", "of the jobs, from TERM to KILL (default each job's own)")
	return m.daemonCommand(cmd, nil, func(a *daemonCommand) error {
		f := stopFlags{grace: grace}
		about, err := a.Version(a.ctx)
		if err != nil {
			return err
		}
		ended := waitForExit(about.PID)
		left, err := a.ShutDown(a.ctx, messages.ShutdownNode{KeepJobs: !stopJobs, Grace: f.span(), Reason: "troupe shutdown"})
		if err != nil {
			return err
		}
		ended() // a daemon that is started now finds the places of this one free
		if a.json {
			err = a.object(wire.ShutdownResult{V: wire.Version, Survivors: wire.List(left)})
		}
		for _, s := range left {
			a.printError(survivorError(s))
		}
		if err == nil && len(left) > 0 {
			return exitStatus(statusSurvivors)
		}
		return err
	})
}
