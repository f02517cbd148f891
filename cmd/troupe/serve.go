package main

import (
	"context"

	"github.com/spf13/cobra"

	"troupe/backends/heap"
	"troupe/backends/threads"
	"troupe/messages"
)

// serveFlags are the flags of serve as they were typed.
type serveFlags struct {
	socket, state, http, metrics string
	readyFD                      int
}

const serveLong = `Run the daemon: it takes requests on a socket that is its user's alone, and runs
the jobs of all who ask. One daemon holds a state directory. It says what it does
on stderr.

The other verbs find it at the same socket; troupe run uses it if it runs. TERM
and INT end it, as troupe shutdown does: jobs live on where they can.`

const serveExamples = `  troupe serve                              until troupe shutdown
  troupe serve --http 127.0.0.1:7420        for programs with the token, too
  systemctl --user enable --now troupe      as a service (contrib/systemd)`

func serveCommand(m *Main) *cobra.Command {
	f := &serveFlags{}
	cmd := &cobra.Command{
		Use: "serve [flags]", Short: "Run the daemon", Long: serveLong, Example: serveExamples, Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return serveDaemon(m, f, cmd.Flags().Changed) },
	}
	set := cmd.Flags()
	set.SortFlags = false
	set.StringVar(&f.socket, "socket", "", "listen at `PATH` (default $TROUPE_SOCKET, or below $XDG_RUNTIME_DIR)")
	set.StringVar(&f.state, "state", "", "keep the state in `DIR` (default $TROUPE_STATE, or below $XDG_STATE_HOME)")
	set.StringVar(&f.http, "http", "", "listen on the loopback `ADDRESS`, too, for who has the token of the state directory")
	set.StringVar(&f.metrics, "metrics", "", "tell numbers at http://`ADDRESS`/metrics, with the same token")
	set.IntVar(&f.readyFD, "ready-fd", 0, "write there that it is ready, or why not")
	_ = set.MarkHidden("ready-fd") // it exists
	return cmd
}

// serveDaemon runs the daemon until it ends.
func serveDaemon(m *Main, f *serveFlags, given func(flag string) bool) error {
	heap.Tune(heap.Floor)
	threads.Reserve()
	d := &daemon{main: m, report: newReadiness(f.readyFD), signals: listen(), ended: make(chan struct{})}
	d.urgent, d.makeUrgent = context.WithCancel(context.Background())
	defer d.makeUrgent()
	defer d.signals.close()
	err := d.open(f, given)
	d.report.tell(err)
	if err == nil {
		err = d.run()
	}
	return d.close(err)
}

// overlay lays the flags over the settings.
func (f *serveFlags) overlay(s *settings, given func(flag string) bool) error {
	for _, over := range []struct {
		flag  string
		value string
		into  *string
	}{{"socket", f.socket, &s.Socket}, {"state", f.state, &s.State}, {"http", f.http, &s.HTTP}, {"metrics", f.metrics, &s.Metrics}} {
		if !given(over.flag) {
			continue
		}
		if over.value == "" {
			return messages.Invalid(over.flag, "--"+over.flag+" is empty; leave it out or give a value")
		}
		*over.into = over.value
	}
	var err error
	if s.Socket, err = fullPath("socket", s.Socket); err != nil {
		return err
	}
	if s.State != "" {
		s.State, err = fullPath("state", s.State)
	}
	return err
}
