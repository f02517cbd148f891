package daemon

import (
	"context"
	"fmt"
	"time"

	"github.com/coreos/go-systemd/v22/journal"

	"troupe/backends/heap"
	"troupe/internal/cli"
	"troupe/internal/cli/config"
	"troupe/internal/cli/connect"
	"troupe/internal/limits"
	"troupe/messages"
)

// Flags are the flags of serve as they were typed.
type Flags struct {
	Socket, State, HTTP, Metrics string
	ReadyFD                      int
	IdleExit                     time.Duration // 0: it stays
	Faults                       string        // file of a plan of faults, or the name of a ready one; "": none
}

// Serve runs the daemon until it ends.
func Serve(m *cli.Main, f *Flags, given func(flag string) bool) error {
	heap.Tune(heap.Floor)
	if toJournal() {
		m.Level = fmt.Sprintf("<%d>", journal.PriErr)
	}
	d := &daemon{main: m, given: limits.Raise(limits.Given{}), report: connect.NewReadiness(f.ReadyFD), signals: cli.Listen(), ended: make(chan struct{})}
	d.urgent, d.makeUrgent = context.WithCancel(context.Background())
	defer d.makeUrgent()
	defer d.signals.Close()
	err := d.open(f, given)
	d.report.Tell(err)
	if err == nil {
		if f.IdleExit > 0 && d.settings.HTTP == "" && d.settings.Metrics == "" { // clients over TCP cannot start it again
			go d.endIdle(f.IdleExit)
		}
		err = d.run()
	}
	return d.close(err)
}

// overlay replaces settings by the flags that were given.
func (f *Flags) overlay(s *config.Settings, given func(flag string) bool) error {
	for _, override := range []struct {
		flag  string
		value string
		into  *string
	}{{"socket", f.Socket, &s.Socket}, {"state", f.State, &s.State}, {"http", f.HTTP, &s.HTTP}, {"metrics", f.Metrics, &s.Metrics}, {"faults", f.Faults, &s.Faults}} {
		if !given(override.flag) {
			continue
		}
		if override.value == "" {
			return messages.Invalid(override.flag, "--"+override.flag+" is empty; leave it out or give a value")
		}
		*override.into = override.value
	}
	var err error
	if s.Socket, err = config.FullPath("socket", s.Socket); err != nil {
		return err
	}
	if s.State != "" {
		s.State, err = config.FullPath("state", s.State)
	}
	return err
}
