package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"github.com/rs/zerolog"

	"troupe"
	"troupe/backends/keeper"
	"troupe/gateways/http"
	"troupe/journal"
	"troupe/messages"
)

// daemon is troupe serve while it runs.
//
//	lock the state ─ listen ─ open the node ─ ready ─ serve
//	   a signal, a client's shutdown, or a failure: end the node ─ close the server
type daemon struct {
	main     *Main
	report   *readiness
	signals  *signals
	settings *settings
	log      zerolog.Logger
	service  service
	lock     *flock.Flock
	doors    []net.Listener // of clients
	node     *troupe.Node
	journal  *journal.Bolt  // nil: facts are kept in memory
	keeper   *keeper.Client // nil: there is none
	server   *http.Server
	numbers  *numbers

	hurry   context.Context    // ends when the end cannot wait
	hasten  context.CancelFunc // of hurry
	closing sync.Mutex         // whoever holds it ends the node
	once    sync.Once          // closes ended
	ended   chan struct{}      // closed when the node has ended for good
	failed  chan error         // a listener that cannot go on
}

// open takes the daemon's places and opens what it is made of. What was taken
// when it fails is given back by close.
func (d *daemon) open(f *serveFlags, given func(flag string) bool) error {
	undumpable()
	var err error
	if d.settings, err = d.main.settings(); err != nil {
		return err
	}
	if err := f.overlay(d.settings, given); err != nil {
		return err
	}
	d.log = d.main.newLog(d.settings)
	if err := d.settings.ownState(); err != nil {
		return err
	}
	if err := d.alone(); err != nil {
		return err
	}
	if err := d.listen(); err != nil {
		return err
	}
	return d.openNode()
}

// alone takes the lock of the state directory, which one daemon holds for as
// long as it lives.
func (d *daemon) alone() error {
	path := filepath.Join(d.settings.State, lockName)
	lock := flock.New(path, flock.SetPermissions(0o600))
	ok, err := lock.TryLock()
	switch {
	case err != nil:
		return fmt.Errorf("the state directory cannot be locked: %w", err)
	case !ok:
		return &messages.Error{
			Code: messages.Conflict, Reason: "state", Message: "another daemon holds the state directory " + d.settings.State,
			Hint: "use it, end it with troupe shutdown, or name another directory with --state",
		}
	}
	d.lock = lock
	return nil
}

// listen opens the doors: those that a service manager handed over, or else the
// socket; and the addresses of the settings.
func (d *daemon) listen() error {
	handed, err := d.service.listeners()
	if err != nil {
		return err
	}
	if len(handed) > 0 {
		d.doors = handed
		d.settings.Socket = socketOf(handed, d.settings.Socket)
	} else {
		if err := os.MkdirAll(filepath.Dir(filepath.Dir(d.settings.Socket)), 0o700); err != nil {
			return err
		}
		l, err := http.Listen(d.settings.Socket)
		if err != nil {
			return err
		}
		d.doors = append(d.doors, l)
	}
	if d.settings.HTTP == "" {
		return nil
	}
	l, err := http.ListenTCP(d.settings.HTTP)
	if err != nil {
		return err
	}
	d.doors = append(d.doors, l)
	return nil
}

// openNode opens the node and lets clients in.
func (d *daemon) openNode() error {
	var err error
	d.numbers = newNumbers()
	if d.node, err = openNode(context.Background(), d); err != nil {
		return err
	}
	token, err := d.token()
	if err != nil {
		return err
	}
	if err := d.openNumbers(token); err != nil {
		return err
	}
	d.server = http.New(http.Options{
		Node: http.Over(d.node), Version: d.main.describe().Version, Token: token, Shutdown: d.shutdown, Keeper: d.keeperHealth, Log: slogger(d.log),
	})
	d.failed = make(chan error, len(d.doors))
	for _, l := range d.doors {
		d.log.Info().Str("address", l.Addr().String()).Msg("listening")
		go func() {
			if err := d.server.Serve(l); err != nil {
				d.failed <- fmt.Errorf("%s cannot be served any more: %w", l.Addr(), err)
			}
		}()
	}
	return nil
}

// token is what clients of a port must have; "" where there is none.
func (d *daemon) token() (string, error) {
	needed := d.settings.Metrics != ""
	for _, l := range d.doors {
		needed = needed || l.Addr().Network() != "unix"
	}
	if !needed {
		return "", nil
	}
	return http.Token(filepath.Join(d.settings.State, tokenName))
}

// run waits for the end. The first signal ends the daemon in order; the second
// one at once.
func (d *daemon) run() error {
	d.log.Info().Str("version", d.main.describe().Version).Int("pid", os.Getpid()).Str("state", d.settings.State).Msg("ready")
	stopped := d.service.ready(d.node, d.log)
	defer stopped()
	for {
		select {
		case sig := <-d.signals.heard:
			if !d.signals.first(sig) {
				d.log.Warn().Str("signal", signalName(sig)).Msg("ending at once")
				d.hasten()
				continue
			}
			d.log.Info().Str("signal", signalName(sig)).Msg("ending")
			go func() { _ = d.end() }()
		case <-d.ended:
			return nil
		case <-d.node.Failed():
			if err := d.node.Err(); !errors.Is(err, troupe.ErrClosed) {
				return fmt.Errorf("the node has failed: %w", err)
			}
			<-d.ended
			return nil
		case err := <-d.failed:
			_ = d.end()
			return err
		}
	}
}

// replyPatience is how long clients may take to read their last replies.
const replyPatience = 5 * time.Second

// close gives back what was taken, and is how the daemon ends.
func (d *daemon) close(err error) error {
	if d.node != nil {
		if err != nil {
			d.hasten() // it failed: what is left ends at once
		}
		if cerr := d.node.Shutdown(d.hurry, messages.ShutDown{Reason: "the daemon has ended"}); cerr != nil && !errors.Is(cerr, context.Canceled) {
			d.log.Error().Err(cerr).Msg("the node has not ended in order")
		}
	}
	if d.journal != nil {
		if jerr := d.journal.Close(); jerr != nil {
			d.log.Error().Err(jerr).Msg("the journal was not closed in order")
		}
	}
	if d.server != nil {
		ctx, cancel := context.WithTimeout(context.Background(), replyPatience)
		defer cancel()
		if cerr := d.server.Close(ctx); cerr != nil && !errors.Is(cerr, context.DeadlineExceeded) {
			d.log.Warn().Err(cerr).Msg("clients were cut off")
		}
	}
	if d.numbers != nil {
		d.numbers.close()
	}
	for _, l := range d.doors {
		_ = l.Close() // the server has closed those that it served
	}
	if d.lock != nil {
		_ = d.lock.Close()
		d.log.Info().Msg("ended")
	}
	return err
}
