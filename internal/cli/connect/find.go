package connect

import (
	"context"
	"errors"

	"troupe/client"
	"troupe/internal/cli"
	"troupe/internal/cli/config"
	"troupe/internal/cli/terminal"
	"troupe/messages"
)

// FindDaemon connects to the daemon, and starts it if needed is set. Otherwise it
// returns nil if no daemon runs. It returns nil, with a note, for a process in a sandbox that
// the daemon is not in: a command would leave the sandbox.
func FindDaemon(m *cli.Main, needed bool, s *terminal.Printer) (*client.Client, error) {
	at, err := config.Read(m)
	if err != nil {
		return nil, err
	}
	c, err := DialDaemon(context.Background(), at)
	switch {
	case err == nil:
		return c, nil
	case IsConfined(err) && !needed:
		s.Notef("running in this process, without the daemon: %v", err)
		return nil, nil
	case !errors.Is(err, client.ErrNoDaemon) && (needed || at.Named()):
		return nil, err
	case !errors.Is(err, client.ErrNoDaemon) && !errors.Is(err, &messages.Error{Code: messages.InvalidParams, Reason: "socket"}):
		return nil, err
	case !needed:
		return nil, nil
	}
	return startDaemon(m, at, s)
}

// IsConfined reports whether a daemon refuses this process, which is in a sandbox.
func IsConfined(err error) bool {
	return errors.Is(err, &messages.Error{Code: messages.Refused, Reason: "confined"})
}
