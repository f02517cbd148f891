package keeper

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"troupe/backends"
	"troupe/backends/engine"
	"troupe/messages"
	"troupe/spill"
)

// Client is the engine of a keeper, seen from the daemon. It is safe for
// concurrent use. Its jobs outlive it.
type Client struct {
	options   ClientOptions
	name      string
	connector connector

	mu          sync.Mutex
	line        *link
	keeper      hello
	conn        *conn // nil: between two
	jobs        map[messages.UID]*job
	recent      recentOutputs
	calls       map[uint64]*call
	gen         uint64 // of bindings and calls
	inventoried bool   // it knows what the keeper has: from now on another may come
	closed      bool
	shutDown    bool            // nobody receives any more, and no keeper is looked for
	startErr    *messages.Error // why nothing can be started now; nil: it can
	stop        chan struct{}   // closed with closed
	done        chan struct{}   // closed when nobody receives any more

	heartbeats    atomic.Uint64 // how often the keeper was heard
	outage        *outage       // nil: it answers
	unresponsive  chan struct{} // closed while it does not
	resumed       string        // the keeper that was let go on, once
	heartbeatDone chan struct{} // closed behind the last beat
}

const (
	// maxRequests is how many requests wait for a keeper that does not take them.
	maxRequests = 1 << 16
	// callBound is how long an answer may take: the keeper never waits for anything.
	callBound = 10 * time.Second
)

// Open finds the keeper of a directory, or starts one if the options say how, and
// connects to it. Another client of it is replaced.
func Open(ctx context.Context, o ClientOptions) (*Client, error) {
	for tries := 1; ; tries++ { // one that is about to end lets nobody know what it has
		c, err := openOnce(ctx, o)
		if !errors.Is(err, errGone) || tries == brokenAfter {
			return c, err
		}
	}
}

// newClient makes a client that is not connected.
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
	c.line = c.newLine()
	return c, nil
}

// connect is the first of a client's connections.
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
	c.line.attach(conn, h.Heard)
	go c.run(conn)
	go c.heartbeat()
	all, err := c.list(ctx)
	if err != nil {
		c.Close(true)
		return nil, err
	}
	c.mu.Lock()
	if c.shutDown { // it died behind its answer: nobody would look for the next
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

func (c *Client) newLine() *link {
	l := newLine(maxRequests)
	l.overflow = func() { go c.rebindAll(l) }
	return l
}

// addJob makes a job known that the keeper has. Called with mu.
func (c *Client) addJob(h inventoryReply) *job {
	j := c.jobs[h.ID]
	if j == nil {
		j = newJob(c, h.ID, h.Separate)
		j.hasLogs = true // there are logs, or were
		c.jobs[h.ID] = j
	}
	return j
}

// Keeper reports who serves the jobs.
func (c *Client) Keeper() (id string, pid int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.keeper.KeeperID, c.keeper.PID
}

// Features reports what the keeper's engine stands on.
func (c *Client) Features() engine.Features {
	c.mu.Lock()
	defer c.mu.Unlock()
	var f engine.Features
	_ = json.Unmarshal(c.keeper.Features, &f) // a keeper of another build may know others
	return f
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

// refuse looks at what no keeper is needed for. Called with mu.
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
		return nil, refused(messages.NotFound, "job", "the keeper does not know the job, and nothing of it is left", "")
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
		if c.jobs[h.ID] != nil { // else it was settled meanwhile
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

// Open opens a log of any job that the keeper has logs of, over and settled ones
// too. It is spill.ErrNotFound for one that has not started.
func (c *Client) Open(id messages.UID, stream messages.Stream) (spill.Log, error) {
	c.mu.Lock()
	j, o := c.jobs[id], c.recent.log(id, stream)
	c.mu.Unlock()
	if j != nil {
		log, err := j.open(stream)
		if errors.Is(err, errUnborn) {
			return nil, spill.ErrNotFound
		}
		return log, err
	}
	if o == nil {
		o = newOutlog(c, id, stream)
	}
	return o.reader(), nil
}

// Remove frees the logs of a job that is over.
func (c *Client) Remove(id messages.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.recent.drop(id)
	c.line.send(message{kind: askRemove, job: id})
}

// Close implements backends.Engine. With keep the keeper and its jobs go on and
// wait for the next client; otherwise all jobs are killed, and the keeper ends.
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
	case c.isDone(): // there is nobody to ask
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

// endBound is how long a keeper may take to kill what it has.
const endBound = 30 * time.Second

// endAll ends the keeper with all it has; ended says that it will be gone soon.
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
			left = append(left, messages.Survivor{PID: pid, State: statOf(pid)[0], Why: "it is the keeper, which did not say that its jobs have ended"})
		}
	}
	return left, err == nil
}

func (c *Client) fault(err error) {
	if c.options.Fault != nil && err != nil {
		c.options.Fault(err)
	}
}
