package keeper

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"troupe/backends"
	"troupe/messages"
	"troupe/spill"
)

// Client is the daemon's connection to a keeper, as an engine. It is safe for
// concurrent use. Its jobs outlive it.
type Client struct {
	options   ClientOptions
	name      string
	connector connector

	mu          sync.Mutex
	link        *link
	keeper      hello
	conn        *conn // nil: not connected
	jobs        map[messages.UID]*job
	recent      recentOutputs
	calls       map[uint64]*call
	gen         uint64 // last number of a binding or call
	inventoried bool   // the keeper's jobs are known; from now on it may be replaced
	closed      bool
	shutDown    bool            // nothing is received any more, and no keeper is looked for
	startErr    *messages.Error // why jobs cannot start now; nil: they can
	stop        chan struct{}   // closed with closed
	done        chan struct{}   // closed when nothing is received any more

	heartbeats    atomic.Uint64 // datagrams received
	outage        *outage       // nil: the keeper answers
	unresponsive  chan struct{} // closed while it does not
	resumed       string        // the keeper that was sent CONT, once
	heartbeatDone chan struct{} // closed when the heartbeat ends
}

const (
	// maxRequests bounds the requests that wait for a keeper.
	maxRequests = 1 << 16
	// callBound bounds the wait for an answer: the keeper itself never waits.
	callBound = 10 * time.Second
)

// Open connects to the keeper of a directory, or starts one if the options say how. It
// replaces another client.
func Open(ctx context.Context, o ClientOptions) (*Client, error) {
	for tries := 1; ; tries++ { // a keeper that is about to end does not list its jobs
		c, err := openOnce(ctx, o)
		if !errors.Is(err, errGone) || tries == brokenAfter {
			return c, err
		}
	}
}

// newClient returns a client that is not connected.
func newClient(o ClientOptions) (*Client, error) {
	name, err := newID()
	if err != nil {
		return nil, err
	}
	c := &Client{
		options: o, name: name, jobs: map[messages.UID]*job{}, calls: map[uint64]*call{},
		gen: uint64(time.Now().UnixNano()), stop: make(chan struct{}), done: make(chan struct{}),
		unresponsive: make(chan struct{}), heartbeatDone: make(chan struct{}),
	}
	c.connector = connector{o: o}
	c.link = c.newLink()
	return c, nil
}

// connect makes a client's first connection.
func (c *Client) connect() (*conn, hello, error) {
	return c.connector.connect(hello{Proto: protocol, Build: c.options.Build, BootID: bootID(), Client: c.name, Storage: &c.options.Storage})
}

func openOnce(ctx context.Context, o ClientOptions) (*Client, error) {
	c, err := newClient(o)
	if err != nil {
		return nil, err
	}
	conn, h, err := c.connect()
	if err != nil {
		return nil, err
	}
	c.keeper, c.conn = h, conn
	c.reportDamage(h)
	c.link.attach(conn, h.Heard)
	go c.run(conn)
	go c.heartbeat()
	all, err := c.list(ctx)
	if err != nil {
		c.Close(true)
		return nil, err
	}
	c.mu.Lock()
	if c.shutDown { // the keeper died after its answer, and no other is looked for
		c.mu.Unlock()
		c.Close(true)
		return nil, errGone
	}
	defer c.mu.Unlock()
	c.inventoried = true
	for _, h := range all {
		c.addJob(h)
	}
	return c, nil
}

func (c *Client) newLink() *link {
	l := newLink(maxRequests)
	l.overflow = func() { go c.rebindAll(l) }
	return l
}

// addJob adds a job that the keeper has. The caller holds mu.
func (c *Client) addJob(h inventoryReply) *job {
	j := c.jobs[h.ID]
	if j == nil {
		j = newJob(c, h.ID, h.Separate)
		j.hasLogs = true // there are logs, or were
		c.jobs[h.ID] = j
	}
	return j
}

// Keeper returns the id and pid of the keeper.
func (c *Client) Keeper() (id string, pid int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.keeper.KeeperID, c.keeper.PID
}

// CanKeep implements backends.Engine.
func (c *Client) CanKeep() bool { return true }

// Start implements backends.Engine.
func (c *Client) Start(s backends.Spec, facts backends.FactHandler) backends.Process {
	c.mu.Lock()
	if j := c.jobs[s.ID]; j != nil {
		c.mu.Unlock()
		return j.adopt(facts)
	}
	j := newJob(c, s.ID, s.Stdio.Streams == messages.SeparateStreams && s.Stdio.Terminal == (messages.Terminal{}))
	j.bound = backends.Bind(facts)
	p := process{j, j.bound}
	refusal := c.refuse(s)
	if refusal == nil {
		c.jobs[s.ID] = j
	}
	c.gen++
	j.gen = c.gen
	c.mu.Unlock()
	if refusal == nil {
		refusal = j.start(s)
	}
	if refusal != nil {
		go j.fail(*refusal)
	}
	return p
}

// refuse makes the checks that need no keeper. The caller holds mu.
func (c *Client) refuse(s backends.Spec) *messages.Error {
	switch {
	case c.closed:
		return refused(messages.ShuttingDown, "closing", "the engine is closing and starts nothing more", "")
	case c.startErr != nil:
		return c.startErr
	case c.outage != nil:
		return c.outage.err
	case len(s.Meta) > backends.MaxMeta:
		return refused(messages.TooLarge, "meta", "the meta of the job is too large", "")
	}
	return nil
}

// Adopt implements backends.Engine.
func (c *Client) Adopt(id messages.UID, facts backends.FactHandler) (backends.Process, error) {
	c.mu.Lock()
	j := c.jobs[id]
	c.mu.Unlock()
	if j == nil {
		return nil, refused(messages.NotFound, "job", "unknown job: the keeper has no record of it", "")
	}
	return j.adopt(facts), nil
}

// Inventory implements backends.Engine.
func (c *Client) Inventory(ctx context.Context) ([]backends.InventoryJob, error) {
	all, err := c.list(ctx)
	if err != nil {
		return nil, err
	}
	jobs := make([]backends.InventoryJob, 0, len(all))
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, h := range all {
		if c.jobs[h.ID] != nil { // otherwise it was settled meanwhile
			jobs = append(jobs, h.InventoryJob)
		}
	}
	return jobs, nil
}

func (c *Client) list(ctx context.Context) ([]inventoryReply, error) {
	var all []inventoryReply
	err := c.call(ctx, message{kind: askInventory}, func(m message) (bool, error) {
		some, err := decode[[]inventoryReply](m.body)
		all = append(all, some...)
		return m.kind == sayListed, err
	})
	return all, err
}

// Open opens a log of a job, also of an ended and settled one. It returns
// spill.ErrNotFound if the job has not started.
func (c *Client) Open(id messages.UID, stream messages.Stream) (spill.Log, error) {
	c.mu.Lock()
	j, o := c.jobs[id], c.recent.log(id, stream)
	c.mu.Unlock()
	if j != nil {
		log, err := j.open(stream)
		if errors.Is(err, errNotStarted) {
			return nil, spill.ErrNotFound
		}
		return log, err
	}
	if o == nil {
		o = newRemoteLog(c, id, stream)
	}
	return o.reader(), nil
}

// Remove removes the logs of an ended job.
func (c *Client) Remove(id messages.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.recent.drop(id)
	c.link.send(message{kind: askRemove, job: id})
}

// Close implements backends.Engine. With keep the keeper and its jobs run on until the
// next client; otherwise all jobs are killed and the keeper ends.
func (c *Client) Close(keep bool) []messages.Survivor {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil
	}
	c.closed = true
	c.mu.Unlock()
	var left []messages.Survivor
	ended := false
	switch {
	case c.isDone(): // there is no keeper
	case !keep:
		left, ended = c.endAll()
	default:
		ctx, cancel := context.WithTimeout(context.Background(), flushBound)
		err := c.call(ctx, message{kind: askDone}, func(message) (bool, error) { return true, nil })
		cancel()
		c.fault(err)
	}
	close(c.stop)
	c.mu.Lock()
	if c.conn != nil {
		c.conn.close()
	}
	jobs := c.allJobs()
	c.mu.Unlock()
	<-c.done
	<-c.heartbeatDone
	for _, j := range jobs {
		j.unbind()
	}
	c.connector.close(ended)
	return left
}

func (c *Client) isDone() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// endBound bounds the time in which a keeper kills its jobs.
const endBound = 30 * time.Second

// endAll ends the keeper and its jobs; ended says that it confirmed that.
func (c *Client) endAll() (left []messages.Survivor, ended bool) {
	ctx, cancel := context.WithTimeout(context.Background(), endBound)
	defer cancel()
	err := c.call(ctx, message{kind: askClose}, func(m message) (bool, error) {
		var err error
		left, err = decode[[]messages.Survivor](m.body)
		return true, err
	})
	c.fault(err)
	if err != nil {
		if _, pid := c.Keeper(); pid > 0 && statOf(pid) != nil {
			left = append(left, messages.Survivor{PID: pid, State: statOf(pid)[0], Why: "the keeper did not confirm the end of its jobs"})
		}
	}
	return left, err == nil
}

// reportDamage reports what a keeper found to be damaged when it started.
func (c *Client) reportDamage(h hello) {
	if h.Damage != "" {
		c.fault(fmt.Errorf("%s: %s", filepath.Join(c.options.Dir, journalName), h.Damage))
	}
}

func (c *Client) fault(err error) {
	if c.options.Fault != nil && err != nil {
		c.options.Fault(err)
	}
}
