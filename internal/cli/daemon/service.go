package daemon

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/coreos/go-systemd/v22/activation"
	sd "github.com/coreos/go-systemd/v22/daemon"
	"github.com/rs/zerolog"

	"troupe/internal/gateway/http"
	"troupe/internal/node"
	"troupe/messages"
)

// service talks to the service manager, if there is one. It takes over sockets, and
// reports that the daemon is ready, alive or stopping.
type service struct{}

// listeners returns the sockets passed by the manager (LISTEN_FDS). It fails unless all
// can be served, so that the manager never sees a daemon that is ready and then fails.
func (service) listeners() ([]net.Listener, error) {
	all, err := activation.Listeners()
	if err != nil {
		return nil, err
	}
	var doors []net.Listener
	for _, l := range all {
		if l == nil {
			return nil, messages.Invalid("listen_fds", "the service manager passed a descriptor that is not a listening socket; pass sockets only (ListenStream=)")
		}
		if err := http.CheckListener(l); err != nil {
			return nil, err
		}
		doors = append(doors, l)
	}
	return doors, nil
}

// socketOf returns the path at which clients find the daemon.
func socketOf(doors []net.Listener, otherwise string) string {
	for _, l := range doors {
		if at, ok := l.Addr().(*net.UnixAddr); ok && at.Name != "" {
			return at.Name
		}
	}
	return otherwise
}

// ready reports that the daemon accepts requests. With a watchdog it also reports,
// until the returned function is called, that the node answers.
func (service) ready(node *node.Node, log zerolog.Logger) func() {
	if _, err := sd.SdNotify(false, sd.SdNotifyReady); err != nil {
		log.Warn().Err(err).Msg("cannot notify the service manager")
	}
	every, err := sd.SdWatchdogEnabled(false)
	if err != nil || every <= 0 {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		live(ctx, node, every/watchdogShare, log)
	}()
	return func() {
		cancel()
		<-done
	}
}

// watchdogShare is the number of reports within the watchdog's timeout.
const watchdogShare = 3

// live reports to the watchdog after each reply of the node.
func live(ctx context.Context, node *node.Node, every time.Duration, log zerolog.Logger) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		pingCtx, cancel := context.WithTimeout(ctx, every)
		_, err := node.Ask(pingCtx, messages.ListScopes{Path: messages.MainScope})
		cancel()
		if err == nil {
			_, err = sd.SdNotify(false, sd.SdNotifyWatchdog)
		}
		if err != nil && ctx.Err() == nil {
			log.Error().Err(fmt.Errorf("the watchdog was not notified: %w", err)).Msg("the node does not answer")
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (service) stopping() { _, _ = sd.SdNotify(false, sd.SdNotifyStopping) }
