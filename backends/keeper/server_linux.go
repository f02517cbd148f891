package keeper

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"troupe/backends"
	"troupe/backends/engine"
	"troupe/internal/limits"
	"troupe/messages"
	"troupe/spill"
)

// server is a running keeper. It serves one client at a time; a new one replaces it. It
// never waits for a client.
type server struct {
	options   Options
	dir       *os.File
	lease     *os.File
	store     *spill.Disk
	journal   *journal
	engine    *engine.Local
	hello     hello
	fdReserve *fdReserve
	ended     chan struct{} // closed when a client has ended all, or the only job has ended
	end       sync.Once
	cancel    context.CancelFunc // ends the jobs and the keeper when it is unreachable

	liveReads chan struct{} // see sendLive

	requestMu sync.Mutex // held while a client's requests are handled or a client is replaced

	settled  chan messages.UID // jobs whose logs must outlive this process
	limiting sync.Mutex        // held while limits are applied
	limits   spill.Limits      // of the last client; guarded by requestMu and limiting

	mu        sync.Mutex
	jobs      map[messages.UID]*servedJob
	ending    bool // no client is accepted any more
	hadClient bool // a client has connected
	listener  *net.UnixListener
	stoppedBy string // the signal that stopped this keeper, and its sender
	client    string // name of the served client; its link stays for its return
	link      *link
	conn      *conn
}

// servedJob is the keeper's state for one engine job.
type servedJob struct {
	separate bool
	safely   bool // its end is sent after the journal is on disk
	meta     []byte

	proc   backends.Process // of the served client
	gen    uint64
	paused bool // by that client

	pidFile string // "": none
	started bool   // it has or had a process
	over    bool   // the last fact was reported

	left *journaledJob // of a job that a dead keeper left; nil: it started here
}

// Serve runs a keeper until ctx ends or a client ends it. Then it stops every job, with
// the grace, and records the ends. The process must belong to the keeper alone.
func Serve(ctx context.Context, o Options) error {
	ctx, giveUp := context.WithCancel(ctx)
	defer giveUp()
	s := &server{options: o, jobs: map[messages.UID]*servedJob{}, ended: make(chan struct{}), cancel: giveUp, fdReserve: newSpareFiles(), settled: make(chan messages.UID, maxSettled), liveReads: make(chan struct{}, liveAtOnce)}
	first, err := s.open()
	if err != nil {
		s.tellFailure(err)
		s.removeDir()
		return err
	}
	s.guardSignals()
	var serving sync.WaitGroup
	if s.listener, err = listen(s.dir, socketName); err != nil {
		s.engine.Close(false)
		err = errors.Join(err, s.journal.close())
		s.tellFailure(err)
		s.removeDir()
		return err
	}
	if first != nil {
		serving.Go(func() { s.serve(first) })
	}
	listener := s.listener
	serving.Go(func() { s.accept(listener, &serving) })
	defer s.watchOnlyJob()()
	unwatch := s.watchDir(&serving)
	over := make(chan struct{})
	serving.Go(func() { s.persist(over) })
	select {
	case <-ctx.Done():
		s.endJobs()
		s.engine.Close(false)
		s.persistRest()
	case <-s.ended:
	}
	s.flush()
	unwatch()
	s.mu.Lock()
	_ = s.listener.Close()
	s.ending = true
	if s.conn != nil {
		s.conn.close()
	}
	s.mu.Unlock()
	close(over)
	serving.Wait()
	if path, err := inDir(s.dir, socketName); err == nil {
		_ = unix.Unlink(path)
	}
	err = s.journal.close()
	s.removeDir()
	return err
}

// tellFailure sends the error of a failed start to its starter.
func (s *server) tellFailure(err error) {
	if s.options.Conn == nil {
		return
	}
	c, cerr := fileConn(s.options.Conn)
	if cerr != nil {
		return
	}
	defer c.close()
	_ = c.trySend(appendJSON(frameError, asError(err)), nil)
}

// asError gives an error a code.
func asError(err error) *messages.Error {
	if e, ok := errors.AsType[*messages.Error](err); ok {
		return e
	}
	return refused(messages.Internal, "keeper", err.Error(), "")
}

// open takes the lease and restores what the last keeper left.
func (s *server) open() (first *conn, err error) {
	if err := limits.Refuse("keeper", limits.Examine(os.Getpid())); err != nil {
		return nil, err
	}
	if s.dir, err = openDir(s.options.Dir, true); err != nil {
		return nil, err
	}
	if s.lease, err = takeLease(s.dir, leaseBound); err != nil {
		return nil, err
	}
	if s.journal, err = openJournal(s.dir, s.options.Alone, func(err error) { s.fault("", err) }); err != nil {
		return nil, err
	}
	if last := s.journal.limits(); last != nil {
		s.limits = *last // before logs are recovered
	}
	s.store, err = spill.OpenStore(spill.Options{Root: filepath.Join(s.options.Dir, logsName), Node: logsNode, Limits: keptLimits(s.limits), Gone: s.dirRemoved})
	if err != nil {
		return nil, err
	}
	if err = s.store.Recover(); err != nil {
		return nil, fmt.Errorf("the logs of the last keeper cannot be read: %w", err)
	}
	if s.options.Alone {
		s.recoverLog()
	}
	if err = s.openEngine(); err != nil {
		return nil, err
	}
	if s.options.Conn != nil {
		if first, err = fileConn(s.options.Conn); err != nil {
			s.engine.Close(false)
			return nil, err
		}
	}
	return first, nil
}

// openEngine makes the engine, kills what a dead keeper left, and restores its jobs.
func (s *server) openEngine() error {
	left := s.journal.past()
	boot := bootID()
	id, err := newID()
	if err != nil {
		return err
	}
	after := uint64(0)
	if left.opened != nil {
		after = left.highest + seqGap
	}
	s.engine, err = engine.New(engine.Options{
		Node: id, Store: s.store, Own: true, NoCgroup: s.options.NoCgroup, SoftLimits: s.options.SoftLimits, OOMScoreAdj: s.options.OOMScoreAdj, ScriptDir: s.store.Dir, After: after,
		Journal: s.record, Over: s.jobEnded, Fault: s.engineFault, Failpoint: s.options.Failpoint,
	})
	if err != nil {
		return err
	}
	found := s.engine.Features()
	survivors := s.endLeftovers(left, boot)
	opened := entry{Kind: entryOpened, At: time.Now(), Keeper: id, BootID: boot, Cgroup: found.Cgroup, After: after}
	s.journal.append(opened)
	s.journal.append(opened) // a damaged one would cost the cgroups of all jobs
	s.restore(left, boot, survivors)
	if left.opened != nil {
		if err := s.engine.RecoverScripts(); err != nil {
			s.fault("", err)
		}
	}
	features, err := json.Marshal(found)
	s.hello = hello{Proto: cmp.Or(s.options.protocol, protocol), Build: s.options.Build, BootID: boot, KeeperID: id, PID: os.Getpid(), Features: features, Damage: s.journal.damage}
	return err
}

// newID returns the id of a keeper: as long as a ULID, and unique. It tags the keeper's
// jobs.
func newID() (string, error) {
	const letters = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	id := make([]byte, 26)
	if _, err := rand.Read(id); err != nil {
		return "", err
	}
	for i := range id {
		id[i] = letters[id[i]%32]
	}
	id[0] = '0' + id[0]%8
	return string(id), nil
}

// engineFault takes the faults of the engine, and its report of a process of unknown origin.
func (s *server) engineFault(job messages.UID, err error) {
	var e *messages.Error
	if errors.As(err, &e) && IsReport(e) {
		s.report(job, e)
		return
	}
	s.fault(job, err)
}

func (s *server) fault(job messages.UID, err error) {
	if s.options.Fault != nil {
		s.options.Fault(job, err)
	}
}

// record implements the engine's journal.
func (s *server) record(r engine.Record) {
	e := entryOf(r)
	s.mu.Lock()
	c := s.jobs[r.Job]
	switch {
	case c == nil:
	case r.Kind == engine.RecordStarting:
		e.Separate, e.Meta = c.separate, c.meta
	case r.Kind == engine.RecordStarted:
		e.Separate, c.started = c.separate, true
	case r.Kind == engine.RecordForgotten:
		delete(s.jobs, r.Job)
		if s.options.Alone && c.started { // its log is a file already
			e = entry{Kind: entryCollected, Job: r.Job, At: r.At}
			break
		}
		select {
		case s.settled <- r.Job:
		default: // the queue is full: the log stays in memory, within limits
		}
	}
	s.mu.Unlock()
	s.journal.append(e)
	if r.Kind != engine.RecordStarted {
		return
	}
	if c != nil && c.pidFile != "" {
		if err := writePidFile(c.pidFile, PIDFile{PID: r.PID, StartTime: r.StartTime, BootID: s.hello.BootID, Job: r.Job, Dir: s.options.Dir}); err != nil {
			s.fault(r.Job, fmt.Errorf("the pid file cannot be written: %w", err))
		}
	}
}

// endJobs stops all jobs, and waits as long as that may take.
func (s *server) endJobs() {
	bound := time.NewTimer(s.options.Grace + killSlack)
	defer bound.Stop()
	all, err := s.engine.Inventory(context.Background())
	if err != nil {
		return
	}
	var live []chan struct{}
	for _, h := range all {
		if !h.Live {
			continue
		}
		over := make(chan struct{})
		var once sync.Once
		proc, err := s.engine.Adopt(h.ID, func(f messages.ProcessFact) {
			switch f := f.(type) {
			case messages.TreeEnded, messages.ProcessFailed:
				once.Do(func() { close(over) })
			case messages.ProcessExited:
				if f.Last > 0 {
					once.Do(func() { close(over) })
				}
			}
		})
		if err == nil {
			proc.Stop(messages.Cause{By: messages.ByShutdown, Reason: s.stopReason()}, s.options.Grace)
			live = append(live, over)
		}
	}
	for _, over := range live {
		select {
		case <-over:
		case <-bound.C:
			return
		}
	}
}

// killSlack bounds a stop beyond its grace.
const killSlack = 3 * time.Second

// flush waits, up to flushBound, until the client has the last facts.
func (s *server) flush() {
	s.mu.Lock()
	l, c := s.link, s.conn
	s.mu.Unlock()
	if l == nil || c == nil {
		return
	}
	l.send(message{kind: sayFlush})
	t := time.NewTimer(flushBound)
	defer t.Stop()
	select {
	case <-l.flushed():
	case <-t.C:
	}
}

// flushBound bounds how long a side that ends waits until the other has received all.
const flushBound = 2 * time.Second

// accept accepts clients until the listener is closed.
func (s *server) accept(l *net.UnixListener, serving *sync.WaitGroup) {
	for pause := acceptFirst; ; {
		socket, err := l.AcceptUnix()
		switch {
		case err == nil:
			pause = acceptFirst
			if c, err := newConn(socket); err == nil {
				serving.Go(func() { s.serve(c) })
			} else {
				_ = socket.Close()
			}
			s.fdReserve.refill()
		case errors.Is(err, net.ErrClosed):
			return
		default: // no descriptor is left: release some, and retry
			s.fault("", fmt.Errorf("cannot accept a client: %w", err))
			s.fdReserve.lend()
			t := time.NewTimer(pause)
			pause = min(2*pause, acceptLast)
			select {
			case <-t.C:
			case <-s.ended:
				t.Stop()
				return
			}
		}
	}
}

// Pauses after a failed accept, as without a descriptor.
const (
	acceptFirst = 10 * time.Millisecond
	acceptLast  = time.Second
)
