package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/gofrs/flock"
	"github.com/rs/zerolog"

	"troupe/backends/keeper"
	"troupe/backends/threads"
	"troupe/internal/cli"
	"troupe/internal/cli/config"
	"troupe/internal/cli/connect"
	"troupe/internal/cli/inject"
	"troupe/internal/gateway/http"
	"troupe/internal/journal"
	"troupe/internal/limits"
	"troupe/internal/node"
	"troupe/internal/signals"
	"troupe/messages"
)

// daemon is the state of troupe serve while it runs.
//
//	lock the state ─ listen, and all else that may fail ─ open the node ─ ready ─ serve
//	   a signal, a client's shutdown, or a failure: end the node ─ close the server
type daemon struct {
	main            *cli.Main
	report          *connect.ReadyPipe
	signals         *cli.Signals
	settings        *config.Settings
	given           limits.Given // for the jobs
	log             zerolog.Logger
	service         service
	lock            *flock.Flock
	listeners       []net.Listener // for clients
	metricsListener net.Listener   // for the metrics; nil: not served
	token           http.Token     // required over TCP; zero: all listeners are local sockets
	node            *node.Node
	journal         *journal.Bolt // nil: facts stay in memory
	keeper          *keeper.Fleet // nil: no keepers on this platform
	server          *http.Server
	numbers         *metrics
	faults          *inject.Injector // nil: none happen

	urgent     context.Context    // ends when the shutdown must skip the grace
	makeUrgent context.CancelFunc // ends urgent
	closing    sync.Mutex         // held while the node shuts down
	once       sync.Once          // guards the close of ended
	ended      chan struct{}      // closed after the node has ended
	failed     chan error         // error of a listener that failed
}

// open reads the settings, locks the state, opens the sockets and the node. After an
// error close releases what open has acquired.
func (d *daemon) open(f *Flags, given func(flag string) bool) error {
	connect.DisableDumps()
	var err error
	if d.settings, err = config.Read(d.main); err != nil {
		return err
	}
	if err := f.overlay(d.settings, given); err != nil {
		return err
	}
	d.log = NewLog(d.main, d.settings)
	if err := d.examineLimits(); err != nil {
		return err
	}
	threads.Reserve()()
	if err := d.settings.OwnState(); err != nil {
		return err
	}
	if err := d.lockState(); err != nil {
		return err
	}
	if err := d.admitFaults(); err != nil {
		return err
	}
	if err := d.listen(); err != nil {
		return err
	}
	if err := d.admit(); err != nil {
		return err
	}
	return d.openNode()
}

// lockState locks the state directory, which one daemon holds until it ends.
func (d *daemon) lockState() error {
	path := filepath.Join(d.settings.State, config.LockName)
	lock := flock.New(path, flock.SetPermissions(0o600))
	ctx, cancel := context.WithTimeout(context.Background(), connect.LockPatience)
	defer cancel()
	ok, err := lock.TryLockContext(ctx, connect.LockPatience/20)
	switch {
	case err != nil && !errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("cannot lock the state directory: %w", err)
	case !ok:
		return connect.HeldBy(d.settings.State, path)
	}
	d.lock = lock
	if err := os.WriteFile(path, []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600); err != nil { // HeldBy reads it
		d.log.Warn().Err(err).Msg("cannot write the process id of the daemon to its lock file")
	}
	return nil
}

// listen opens the listeners: those passed by a service manager, or else the socket;
// and the HTTP address of the settings.
func (d *daemon) listen() error {
	handed, err := d.service.listeners()
	if err != nil {
		return err
	}
	if len(handed) > 0 {
		d.listeners = handed
		d.settings.Socket = socketOf(handed, d.settings.Socket)
	} else {
		err = d.listenAt(d.settings.Socket)
	}
	if err := d.listenInState(err); err != nil {
		return err
	}
	if d.settings.HTTP == "" {
		return nil
	}
	l, err := http.ListenTCP(d.settings.HTTP)
	if err != nil {
		return err
	}
	d.listeners = append(d.listeners, l)
	return nil
}

// listenAt opens a socket.
func (d *daemon) listenAt(path string) error {
	if err := config.Above(filepath.Dir(path), config.SocketVar); err != nil {
		return err
	}
	l, err := http.Listen(path)
	if err != nil {
		return err
	}
	http.KeepSocket(l, Slogger(d.log))
	d.listeners = append(d.listeners, l)
	return nil
}

// socketInUse matches the error for a socket at which another daemon answers.
var socketInUse = &messages.Error{Code: messages.Conflict, Reason: "socket"}

// listenInState opens the socket in the state directory, at which clients find the
// daemon without the other. It replaces the default one if another user has planted that
// or there is no directory for it. err is the error of the other one.
func (d *daemon) listenInState(err error) error {
	path := d.settings.StateSocket()
	if path == d.settings.Socket || err != nil && (d.settings.Named() || errors.Is(err, socketInUse)) {
		return err
	}
	serr := d.listenAt(path)
	switch {
	case err == nil && serr != nil:
		d.log.Warn().Err(serr).Msg("without its socket, clients cannot find the daemon by its state directory")
	case err != nil && serr == nil:
		d.log.Warn().Err(err).Str("address", path).Msg("the default socket cannot be used; clients find the daemon by its state directory")
		d.settings.Socket = path
	default:
		return err
	}
	return nil
}

// openNode opens the node and starts to serve clients.
func (d *daemon) openNode() error {
	var err error
	d.numbers = newNumbers()
	if d.node, err = openNode(context.Background(), d); err != nil {
		return err
	}
	if err := d.numbers.follow(d.node); err != nil {
		return err
	}
	if d.metricsListener != nil {
		d.log.Info().Str("address", d.metricsListener.Addr().String()).Msg("serving metrics")
		d.numbers.serve(d.metricsListener, d.token, cmp.Or(int(d.settings.Limits.HTTPConnections), maxScrapers))
	}
	served := http.AdaptNode(d.node)
	if d.faults != nil {
		d.numbers.faulty()
		go d.faults.Run(d.urgent, served)
		served = d.faults.Node(served)
	}
	d.server = http.New(http.Options{
		Node: served, Version: d.main.Describe().Version, State: d.settings.State, Token: d.token, Shutdown: d.shutdown, Keeper: d.keeperHealth, Holder: d.keeperBuild, Journal: d.journalHealth, Log: Slogger(d.log),
		AllowConfined: d.settings.AllowConfined, Faults: d.settings.Faults, JobOf: d.jobOf,
		Limits: http.Limits{
			Connections: int(d.settings.Limits.Connections), PortConnections: int(d.settings.Limits.HTTPConnections), PortRequests: int(d.settings.Limits.HTTPRequests),
		},
	})
	d.failed = make(chan error, len(d.listeners))
	for _, l := range d.listeners {
		line := d.log.Info().Str("address", l.Addr().String())
		if l.Addr().Network() != "unix" {
			line = line.Str("token_file", d.token.File)
		}
		line.Msg("listening")
		go func() {
			if err := d.server.Serve(l); err != nil {
				d.failed <- fmt.Errorf("cannot serve %s any more: %w", l.Addr(), err)
			}
		}()
	}
	return nil
}

// jobOf returns the job of this daemon or of its keepers whose tree a process belongs to.
func (d *daemon) jobOf(pid int) (messages.UID, messages.ScopePath, bool) {
	in, is := signals.Origin(d.settings.State, pid)
	return messages.UID(in.UID), messages.ScopePath(in.Scope), is
}

// admit opens the address of the metrics, and loads the token that TCP clients need.
func (d *daemon) admit() error {
	needed := d.settings.Metrics != ""
	if needed {
		var err error
		if d.metricsListener, err = http.ListenTCP(d.settings.Metrics); err != nil {
			return err
		}
	}
	for _, l := range d.listeners {
		needed = needed || l.Addr().Network() != "unix"
	}
	if !needed {
		return nil
	}
	var err error
	d.token, err = http.LoadToken(filepath.Join(d.settings.State, config.TokenName))
	return err
}

// run serves until the daemon ends. The first signal starts an orderly shutdown; the
// second one skips the grace.
func (d *daemon) run() error {
	d.log.Info().Str("version", d.main.Describe().Version).Int("pid", os.Getpid()).Str("state", d.settings.State).Msg("ready")
	stopped := d.service.ready(d.node, d.log)
	defer stopped()
	for {
		select {
		case sig := <-d.signals.Incoming:
			if !d.signals.First(sig) {
				d.log.Warn().Str("signal", cli.SignalName(sig)).Msg("shutting down without grace")
				d.makeUrgent()
				continue
			}
			d.log.Info().Str("signal", cli.SignalName(sig)).Msg("shutting down")
			go func() { _ = d.end() }()
		case <-d.ended:
			return nil
		case <-d.node.Failed():
			if err := d.node.Err(); !errors.Is(err, node.ErrClosed) {
				return fmt.Errorf("the node failed: %w", err)
			}
			<-d.ended
			return nil
		case err := <-d.failed:
			_ = d.end()
			return err
		}
	}
}

// close shuts the node down and releases what open has acquired. It returns err.
func (d *daemon) close(err error) error {
	if d.node != nil {
		d.endNode(err != nil)
	}
	if d.journal != nil {
		if jerr := d.journal.Close(); jerr != nil {
			d.log.Error().Err(jerr).Msg("cannot close the journal")
		}
	}
	if d.server != nil {
		ctx, cancel := context.WithTimeout(context.Background(), connect.ReplyPatience)
		defer cancel()
		if cerr := d.server.Close(ctx); cerr != nil && !errors.Is(cerr, context.DeadlineExceeded) {
			d.log.Warn().Err(cerr).Msg("cannot close all connections of clients cleanly")
		}
	}
	if d.numbers != nil {
		d.numbers.close()
	}
	if d.metricsListener != nil {
		_ = d.metricsListener.Close()
	}
	for _, l := range d.listeners {
		_ = l.Close() // the server has closed those that it served
	}
	if d.lock != nil {
		_ = d.lock.Close()
	}
	if err == nil {
		d.log.Info().Msg("shut down")
	}
	return err
}

// endNode shuts the node down if it still runs. Jobs in a keeper keep running, even
// after a failure. Jobs of a daemon without a keeper end; after a failure without
// grace.
func (d *daemon) endNode(failed bool) {
	ctx, cancel := d.urgent, func() {}
	if failed {
		ctx, cancel = context.WithTimeout(d.urgent, connect.ReplyPatience) // after a failure the node may never reply
	}
	defer cancel()
	r := messages.ShutdownNode{KeepJobs: true, Reason: "the daemon is shutting down"}
	err := d.node.Shutdown(ctx, r)
	if errors.Is(err, keepJobs) {
		if failed {
			d.makeUrgent()
		}
		r.KeepJobs = false
		err = d.node.Shutdown(d.urgent, r)
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		d.log.Error().Err(err).Msg("the node did not shut down cleanly")
	}
}
