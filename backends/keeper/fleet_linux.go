package keeper

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"troupe/backends"
	"troupe/messages"
	"troupe/spill"
)

// Fleet is an engine of many keepers: one for the jobs of a daemon, and one for each
// detached job. The latter outlives its starter and ends with its job. Fleet is safe
// for concurrent use.
type Fleet struct {
	options FleetOptions
	main    *Client     // nil: none
	past    *spill.Disk // logs whose keepers have ended

	mu            sync.Mutex
	own           map[messages.UID]*Client
	closed        bool
	turn          *os.File // lock of a guest, or of a starter of jobs
	disconnecting sync.WaitGroup
}

// meetAtOnce bounds the keepers that are asked for their jobs at a time.
const meetAtOnce = 8

// OpenFleet connects to the keepers that run. It replaces the dead keeper of a detached
// job for a while, to learn the job's outcome.
func OpenFleet(ctx context.Context, o FleetOptions) (*Fleet, error) {
	f := &Fleet{options: o, own: map[messages.UID]*Client{}}
	var err error
	if f.past, err = spill.OpenStore(spill.Options{Node: "past"}); err != nil {
		return nil, err
	}
	if err := f.takeTurn(ctx); err != nil {
		f.Close(true)
		return nil, err
	}
	f.meetStarts(ctx)
	if err := f.meetAll(ctx); err != nil {
		f.Close(true)
		return nil, err
	}
	if o.Main.Dir != "" {
		if f.main, err = openAndReplaceIdle(ctx, o.Main); err != nil {
			f.Close(true)
			return nil, err
		}
	}
	return f, nil
}

// meetAll connects to the keepers of detached jobs that are not settled.
func (f *Fleet) meetAll(ctx context.Context) error {
	jobs := []messages.UID{f.options.Only}
	if f.options.Only == "" {
		jobs = ListDetached(f.options.Root)
	}
	if f.options.Fresh {
		jobs = nil
	}
	turn := make(chan struct{}, meetAtOnce)
	errs := make([]error, len(jobs))
	var all sync.WaitGroup
	for i, id := range jobs {
		turn <- struct{}{}
		all.Go(func() {
			errs[i] = f.meet(ctx, id)
			<-turn
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// meet connects to the keeper of one job, if it has facts. A damaged directory is
// skipped; a running keeper must be reached, also one of another version, since its job runs.
func (f *Fleet) meet(ctx context.Context, id messages.UID) error {
	seen, err := Inspect(f.dir(id))
	switch {
	case err != nil && f.options.Only == "" && !(seen.Kept && errors.Is(err, errOtherJournal)):
		f.fault(fmt.Errorf("the detached job %s: %w", id, err))
		return nil
	case err != nil:
		return err
	case !seen.Kept && !seen.Known, seen.Collected && f.options.Only == "": // there are no facts
		return nil
	}
	c, err := Open(ctx, f.client(id))
	switch {
	case err == nil:
	case seen.Kept || f.options.Only != "":
		return fmt.Errorf("the keeper of the detached job %s cannot be reached: %w", id, err)
	default:
		f.fault(err)
		return nil
	}
	f.mu.Lock()
	f.own[id] = c
	f.mu.Unlock()
	if f.options.Only == "" {
		f.part(id, c) // without a job its starter has died, and the keeper would wait while we are connected
	}
	return nil
}

func (f *Fleet) dir(id messages.UID) string { return filepath.Join(f.options.Root, string(id)) }

func (f *Fleet) client(id messages.UID) ClientOptions {
	return ClientOptions{
		Dir: f.dir(id), Build: f.options.Build, Program: append(append([]string(nil), f.options.Program...), "--alone"), Env: f.options.Env, Fault: f.fault,
	}
}

func (f *Fleet) fault(err error) {
	if f.options.Fault != nil && err != nil {
		f.options.Fault(err)
	}
}

// Start implements backends.Engine. A detached job gets its own keeper, which starts
// after the return.
func (f *Fleet) Start(s backends.Spec, facts backends.FactHandler) backends.Process {
	if !s.Detach {
		if f.main != nil {
			return f.main.Start(s, facts)
		}
		return cannot(facts, refused(messages.Unsupported, "keeper", "only detached jobs can be started here", "start it as a detached job"))
	}
	if !validUID(s.ID) {
		return cannot(facts, messages.Invalid("id", "the id of a detached job is not a ULID"))
	}
	if s.Log.File == "" && s.Stdio.Streams != messages.SeparateStreams {
		s.Log.File = filepath.Join(f.dir(s.ID), LogName(s.Log.Group, time.Now()))
	}
	f.mu.Lock()
	c, known := f.own[s.ID]
	closed := f.closed
	if !known && !closed {
		var err error
		if c, err = newClient(f.client(s.ID)); err == nil {
			f.own[s.ID] = c
		} else {
			closed = true
		}
	}
	f.mu.Unlock()
	if closed {
		return cannot(facts, refused(messages.ShuttingDown, "closing", "the engine is closing and starts nothing more", ""))
	}
	p := f.held(s.ID, c, c.Start(s, facts))
	if !known {
		go c.begin()
	}
	return p
}

// CheckDetach implements backends.Detacher.
func (f *Fleet) CheckDetach(file string) *messages.Error {
	if file == "" {
		return nil
	}
	return CheckLogPath(file)
}

// begin connects for the first time, for a job that already waits.
func (c *Client) begin() {
	go c.heartbeat()
	conn, h, err := c.connect()
	c.mu.Lock()
	if err == nil {
		c.keeper, c.inventoried = h, true
		if c.isStopped() {
			c.mu.Unlock()
			conn.close()
			close(c.done)
			return
		}
		c.conn = conn
		l := c.link
		c.mu.Unlock()
		l.attach(conn, h.Heard)
		c.run(conn)
		return
	}
	c.startErr = asError(err)
	jobs := make([]*job, 0, len(c.jobs))
	for _, j := range c.jobs {
		jobs = append(jobs, j)
	}
	c.mu.Unlock()
	c.forgetUnstarted(err)
	close(c.done)
	for _, j := range jobs {
		j.fail(*asError(err))
	}
}

// detached is the process of a job with its own keeper.
type detached struct {
	backends.Process
	f  *Fleet
	c  *Client
	id messages.UID
}

func (f *Fleet) held(id messages.UID, c *Client, p backends.Process) backends.Process {
	return detached{p, f, c, id}
}

// Settle implements backends.Process. When all is settled, the keeper is released and
// ends.
func (p detached) Settle(seq uint64) {
	if p.f.options.Guest || p.f.options.Fresh { // a later client must get all facts
		return
	}
	p.Process.Settle(seq)
	p.f.part(p.id, p.c)
}

// part disconnects from a keeper that has no more facts.
func (f *Fleet) part(id messages.UID, c *Client) {
	c.mu.Lock()
	left := len(c.jobs)
	c.mu.Unlock()
	f.mu.Lock()
	mine := left == 0 && f.own[id] == c && !f.closed
	if mine {
		delete(f.own, id)
		f.disconnecting.Add(1)
	}
	f.mu.Unlock()
	if mine {
		go func() {
			defer f.disconnecting.Done()
			c.Close(true)
		}()
	}
}

// of returns the client of a detached job's keeper; nil: none.
func (f *Fleet) of(id messages.UID) *Client {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.own[id]
}

// Adopt implements backends.Engine.
func (f *Fleet) Adopt(id messages.UID, facts backends.FactHandler) (backends.Process, error) {
	if c := f.of(id); c != nil {
		p, err := c.Adopt(id, facts)
		if err != nil {
			return nil, err
		}
		return f.held(id, c, p), nil
	}
	if f.main != nil {
		return f.main.Adopt(id, facts)
	}
	return nil, refused(messages.NotFound, "job", "unknown job: no keeper has a record of it", "")
}

// Inventory implements backends.Engine.
func (f *Fleet) Inventory(ctx context.Context) ([]backends.InventoryJob, error) {
	var all []backends.InventoryJob
	for _, c := range f.all() {
		some, err := c.Inventory(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// all returns the clients of all keepers.
func (f *Fleet) all() []*Client {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []*Client
	if f.main != nil {
		all = append(all, f.main)
	}
	for _, c := range f.own {
		all = append(all, c)
	}
	return all
}

// CanKeep implements backends.Engine.
func (f *Fleet) CanKeep() bool { return true }

// Close implements backends.Engine. Without keep it also ends the detached jobs. A main keeper
// without a job ends with its client.
func (f *Fleet) Close(keep bool) []messages.Survivor {
	f.mu.Lock()
	first := !f.closed
	f.closed = true
	f.mu.Unlock()
	if !first {
		return nil
	}
	var mu sync.Mutex
	var left []messages.Survivor
	var closing sync.WaitGroup
	for _, c := range f.all() {
		closing.Go(func() {
			idle := keep && c == f.main && c.isIdle()
			some := c.Close(keep && !idle)
			if idle {
				awaitGone(c.options.Dir)
			}
			mu.Lock()
			left = append(left, some...)
			mu.Unlock()
		})
	}
	closing.Wait()
	f.disconnecting.Wait()
	f.fault(f.past.Close())
	closeFile(f.turn)
	return left
}

// Open opens a log of any job that a keeper has or had.
func (f *Fleet) Open(id messages.UID, stream messages.Stream) (spill.Log, error) {
	if c := f.of(id); c != nil {
		return c.Open(id, stream)
	}
	if validUID(id) && stream == messages.Merged {
		if log, err := f.openPast(id); !errors.Is(err, spill.ErrNotFound) {
			return log, err
		}
	}
	if f.main != nil {
		return f.main.Open(id, stream)
	}
	return nil, spill.ErrNotFound
}

// openPast opens the log of a detached job whose keeper has ended.
func (f *Fleet) openPast(id messages.UID) (spill.Log, error) {
	log, err := f.past.Open(string(id), spill.Merged)
	if !errors.Is(err, spill.ErrNotFound) {
		return log, err
	}
	dir, err := openDir(f.dir(id), false)
	if err != nil {
		return nil, spill.ErrNotFound
	}
	defer dir.Close()
	file := givenFile(dir)
	if file == "" {
		return nil, spill.ErrNotFound
	}
	if err := f.past.Reclaim(string(id), spill.Merged, file, filepath.Join(f.dir(id), markName)); err != nil && !errors.Is(err, spill.ErrExists) {
		return nil, refused(messages.OutputUnavailable, "log", "the log cannot be read: "+err.Error(), "it was in "+file)
	}
	return f.past.Open(string(id), spill.Merged)
}

// Remove removes the logs of an ended job. A log at a path that its owner chose stays.
func (f *Fleet) Remove(id messages.UID) {
	if validUID(id) {
		_ = f.past.Remove(string(id))
		switch err := RemoveDetached(f.options.Root, id); {
		case err == nil:
			return
		case !errors.Is(err, os.ErrNotExist):
			f.fault(err)
			return
		}
	}
	if f.main != nil {
		f.main.Remove(id)
	}
}

// LogName returns the default name of a detached job's log; of is its session.
func LogName(of string, at time.Time) string {
	if of == "" || strings.ContainsAny(of, "/\x00") {
		of = "job"
	}
	return fmt.Sprintf("troupe-detached-%s-%d.log", of, at.UnixMilli())
}

// validUID reports whether id looks like a ULID, and is safe as the name of a
// directory.
func validUID(id messages.UID) bool {
	return len(id) == 26 && strings.Trim(string(id), "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}
