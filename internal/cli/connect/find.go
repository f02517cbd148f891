package connect

import (
	"context"
	"errors"

	"troupe/client"
	"troupe/internal/cli"
	"troupe/internal/cli/config"
	"troupe/internal/cli/terminal"
	"troupe/internal/gateway/http/peer"
	"troupe/messages"
)

// Need is how much a command needs a daemon.
type Need uint8

// The needs. The setting no_daemon holds for all but Required.
const (
	IfRunning Need = iota // it uses a daemon that runs
	Preferred             // it starts one, and without a place for it runs alone
	Required              // it starts one, or fails
)

// FindDaemon connects to the daemon, or starts one. It returns nil for a command that runs
// alone, with a note if the user did not ask for that: no daemon can be started, or this process
// is in a sandbox, which a command in the daemon would leave.
func FindDaemon(m *cli.Main, need Need, s *terminal.Printer) (*client.Client, error) {
	at, err := config.Read(m)
	if err != nil {
		return nil, err
	}
	if at.NoDaemon && need != Required {
		return nil, nil
	}
	c, err := DialDaemon(context.Background(), at)
	none := errors.Is(err, client.ErrNoDaemon)
	switch {
	case err == nil:
		return c, nil
	case IsConfined(err) && need != Required:
		s.Notef("running in this process, without the daemon: %v", err)
		return nil, nil
	case !none && (need == Required || at.Named()):
		return nil, err
	case !none && !errors.Is(err, &messages.Error{Code: messages.InvalidParams, Reason: "socket"}):
		return nil, err
	case need == IfRunning:
		return nil, nil
	}
	if why := peer.OwnConfinement(); why != "" && need == Preferred {
		s.Notef("running in this process, without a daemon: it would share this sandbox: %s", why)
		return nil, nil
	}
	c, err = startDaemon(m, at, need, s)
	if err != nil && need == Preferred {
		s.Notef("running in this process, without a daemon: %v", err)
		return nil, nil
	}
	return c, err
}

// IsConfined reports whether a daemon refuses this process, which is in a sandbox.
func IsConfined(err error) bool {
	return errors.Is(err, &messages.Error{Code: messages.Refused, Reason: "confined"})
}
