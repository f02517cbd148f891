package daemon

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/coreos/go-systemd/v22/activation"
	sd "github.com/coreos/go-systemd/v22/daemon"
	"github.com/rs/zerolog"

	"troupe"
	"troupe/internal/gateway/http"
	"troupe/messages"
)

// service is the service manager around the daemon, if there is one: it hands
// over sockets, and hears that the daemon is ready, lives, and ends.
type service struct{}

// listeners are the sockets that were handed over (LISTEN_FDS), if all can be served:
// the manager is not to hear that the daemon is ready and then that it is not.
func (service) listeners() ([]net.Listener, error) {
	all, err := activation.Listeners()
	if err != nil {
		return nil, err
	}
	var doors []net.Listener
	for _, l := range all {
		if l == nil {
			return nil, messages.Invalid("listen_fds", "the service manager handed over something that is no listening socket; name sockets only (ListenStream=)")
		}
		if err := http.CheckListener(l); err != nil {
			return nil, err
		}
		doors = append(doors, l)
	}
	return doors, nil
}

// socketOf is the path at which clients find the daemon.
func socketOf(doors []net.Listener, otherwise string) string {
	for _, l := range doors {
		if at, ok := l.Addr().(*net.UnixAddr); ok && at.Name != "" {
			return at.Name
		}
	}
	return otherwise
}

// ready says that requests are taken, and from now on, if that is wanted, that
// the node lives: as long as it answers. It returns how to stop that.
func (service) ready(node *troupe.Node, log zerolog.Logger) func() {
	if _, err := sd.SdNotify(false, sd.SdNotifyReady); err != nil {
		log.Warn().Err(err).Msg("the service manager cannot be told")
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

// watchdogShare is how often within its time the watchdog hears of us.
const watchdogShare = 3

// live tells the watchdog each time that the node has answered.
func live(ctx context.Context, node *troupe.Node, every time.Duration, log zerolog.Logger) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		asked, cancel := context.WithTimeout(ctx, every)
		_, err := node.Ask(asked, messages.ListScopes{Path: messages.MainScope})
		cancel()
		if err == nil {
			_, err = sd.SdNotify(false, sd.SdNotifyWatchdog)
		}
		if err != nil && ctx.Err() == nil {
			log.Error().Err(fmt.Errorf("the watchdog was not told: %w", err)).Msg("the node does not answer")
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (service) stopping() { _, _ = sd.SdNotify(false, sd.SdNotifyStopping) }
