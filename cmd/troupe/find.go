package main

import (
	"context"
	"errors"

	"troupe/client"
	"troupe/internal/cli"
	"troupe/internal/cli/config"
	"troupe/internal/cli/terminal"
	"troupe/messages"
)

// findDaemon connects to the daemon, starts it if it is needed, and is nil where there
// is none and none is needed.
func findDaemon(m *cli.Main, needed bool, s *terminal.Printer) (*client.Client, error) {
	at, err := config.Read(m)
	if err != nil {
		return nil, err
	}
	c, err := connect(context.Background(), at.Socket)
	switch {
	case err == nil:
		return c, nil
	case !errors.Is(err, client.ErrNoDaemon) && (needed || at.Named()):
		return nil, err
	case !errors.Is(err, client.ErrNoDaemon) && !errors.Is(err, &messages.Error{Code: messages.InvalidParams, Reason: "socket"}):
		return nil, err
	case !needed:
		return nil, nil
	}
	return startDaemon(m, at, s)
}
