package keeper

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"troupe/messages"
)

// Pauses between attempts to reach a keeper.
const (
	findFirst = 5 * time.Millisecond
	findLast  = 2 * time.Second
	// brokenAfter is how many consecutive failures make starts fail.
	brokenAfter = 5
)

func closeFile(f *os.File) {
	if f != nil {
		_ = f.Close()
	}
}

// run receives until the client is closed, over one connection after another.
func (c *Client) run(conn *conn) {
	defer close(c.done)
	for pause := time.Duration(0); conn != nil; {
		good, err := c.receive(conn)
		c.mu.Lock()
		c.conn = nil
		l, closed := c.link, c.closed || !c.inventoried
		c.shutDown = closed
		c.mu.Unlock()
		l.detach(conn)
		conn.close()
		switch {
		case isReplaced(err):
			c.markReplaced()
			return
		case closed: // the end of a keeper is not requested of another one
			return
		case !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, net.ErrClosed):
			c.fault(fmt.Errorf("the connection to the keeper broke: %w", err))
		}
		if good {
			pause = 0
		}
		if pause > 0 && !c.pause(pause) { // the last connection brought nothing valid, and the next may not either
			return
		}
		pause = min(max(2*pause, findFirst), findLast)
		conn = c.reconnect()
	}
}

func (c *Client) isStopped() bool {
	select {
	case <-c.stop:
		return true
	default:
		return false
	}
}

// receive handles what comes over a connection until it ends. good says that some of it
// was valid.
func (c *Client) receive(conn *conn) (good bool, err error) {
	c.mu.Lock()
	l := c.link
	c.mu.Unlock()
	for {
		p, files, err := conn.recv()
		if err != nil {
			return good, err
		}
		c.noteHeard()
		if p[0] == frameError {
			closeAll(files)
			_, err := parseHello(p)
			return good, err
		}
		f, err := parseFrame(p)
		if err == nil && len(files) > 0 && len(f.parts) == 1 {
			f.parts[0].file, files = files[0], files[1:]
			f.parts[0].lost = false
		}
		closeAll(files)
		if err == nil {
			f.parts, err = l.take(f)
		}
		if err != nil {
			return good, err
		}
		good = true
		for _, m := range f.parts {
			c.handle(l, m)
		}
	}
}

// handle handles one message of the keeper.
func (c *Client) handle(l *link, m message) {
	m, err := m.unpack()
	if err != nil {
		c.fault(err)
		c.mu.Lock()
		k := c.calls[m.gen]
		c.mu.Unlock()
		if k != nil {
			k.end(err)
		}
		return
	}
	switch {
	case m.kind == sayResync:
		c.rebindAll(l)
		return
	case m.kind == sayFlush:
		l.ack()
		return
	case m.kind == sayDone, m.kind == sayLog, m.kind == sayHeld, m.kind == sayListed, m.kind == sayStates, m.kind == sayStated, m.kind == sayLive, m.kind == sayClosed, m.kind == sayRefused:
		c.answered(m)
		return
	}
	c.mu.Lock()
	j := c.jobs[m.job]
	c.mu.Unlock()
	if j == nil {
		return // the job is settled
	}
	switch m.kind {
	case sayGone:
		j.notFound(m.gen)
	case sayLogs:
		logs, err := decode[[]logState](m.body)
		if err != nil {
			c.fault(err)
		}
		j.closedLogs(logs)
	default:
		fact, err := parseFact(m.kind, m.body)
		if err != nil {
			c.fault(err)
			return
		}
		if failed, is := fact.(messages.ProcessFailed); is {
			fact = c.explained(failed)
		}
		j.onFact(m.gen, fact)
	}
}

// reconnect looks for a keeper until there is one, or the client is closed.
func (c *Client) reconnect() *conn {
	for pause, tries := findFirst, 1; ; pause, tries = min(2*pause, findLast), tries+1 {
		c.mu.Lock()
		me := hello{Proto: protocol, Build: c.options.Build, BootID: bootID(), Client: c.name, Storage: &c.options.Storage, Heard: c.link.lastReceived()}
		known := c.keeper.KeeperID
		c.mu.Unlock()
		conn, h, err := c.connector.connect(me)
		if err == nil && known == h.KeeperID && !h.Resumed {
			conn.close() // another client has come and gone
			c.markReplaced()
			return nil
		}
		if err == nil {
			return c.resume(conn, h)
		}
		if tries == brokenAfter {
			c.fault(err)
			c.mu.Lock()
			c.startErr = asError(err)
			c.mu.Unlock()
		}
		if !c.pause(pause) {
			return nil
		}
	}
}

// markReplaced records that another client has the jobs: later requests are refused.
func (c *Client) markReplaced() {
	c.mu.Lock()
	c.startErr = errReplaced
	c.mu.Unlock()
	c.fault(errReplaced)
}

// resume continues with a keeper: the same or the next.
func (c *Client) resume(conn *conn, h hello) *conn {
	c.mu.Lock()
	same := c.keeper.KeeperID == h.KeeperID
	died, old := c.keeper.PID, c.link
	if !same {
		c.link = c.newLink()
	}
	c.keeper, c.conn, c.startErr = h, conn, nil
	c.endOutage()
	l, stopped := c.link, c.isStopped()
	calls := c.calls
	var stale []*job
	if !same {
		c.calls = map[uint64]*call{}
		for _, j := range c.jobs {
			stale = append(stale, j)
		}
	}
	c.mu.Unlock()
	if stopped {
		conn.close()
		return nil
	}
	if !same {
		c.fault(fmt.Errorf("keeper %d died, its running jobs are lost; replaced by keeper %d", died, h.PID))
		c.reportDamage(h)
		for _, k := range calls {
			k.end(errGone)
		}
		for _, j := range stale {
			j.suspend(old)
		}
		go c.rebindJobs(l, stale)
	}
	l.attach(conn, h.Heard)
	return conn
}

// rebindJobs lists a new keeper's jobs, and repeats the requests of the old one's.
func (c *Client) rebindJobs(l *link, stale []*job) {
	ctx, cancel := c.bounded()
	defer cancel()
	all, err := c.list(ctx)
	if err != nil {
		c.fault(err)
		c.retryRebind(l, stale)
		return
	}
	listed := map[messages.UID]bool{}
	var forgotten []*job
	c.mu.Lock()
	if c.link != l {
		c.mu.Unlock()
		return
	}
	for _, h := range all {
		listed[h.ID] = true
		if c.jobs[h.ID] == nil {
			forgotten = append(forgotten, c.addJob(h))
		}
	}
	c.mu.Unlock()
	for _, j := range forgotten {
		j.settleForgotten()
	}
	for _, j := range stale {
		j.moveTo(listed[j.id])
	}
}

// retryRebind retries rebindJobs, unless the keeper was replaced meanwhile.
func (c *Client) retryRebind(l *link, stale []*job) {
	if !c.pause(findLast) {
		return
	}
	c.mu.Lock()
	same := c.link == l
	c.mu.Unlock()
	if same {
		go c.rebindJobs(l, stale)
	}
}

// rebindAll binds every job again after a resync.
func (c *Client) rebindAll(l *link) {
	c.mu.Lock()
	if c.link != l {
		c.mu.Unlock()
		return
	}
	jobs := c.allJobs()
	calls := c.calls
	c.calls = map[uint64]*call{}
	c.mu.Unlock()
	for _, k := range calls {
		k.end(errors.New("too many requests for the keeper at once: retry"))
	}
	for _, j := range jobs {
		j.rebind()
	}
}
