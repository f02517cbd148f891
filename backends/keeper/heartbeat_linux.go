package keeper

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"troupe/messages"
)

// The heartbeat: a keeper that leaves two pings without an answer, and one more, is
// unresponsive. A hang is noticed within 10 s.
const (
	beatEvery    = 5 * time.Second
	beatPatience = 2 * time.Second
	beatLast     = time.Second
	// startValid is how long a start may be on its way: longer than it takes to
	// notice that nobody takes it. An older one is refused by the keeper.
	startValid = 15 * time.Second
)

// outage is a time in which a keeper that lives says nothing.
type outage struct {
	err  *messages.Error
	over chan struct{} // closed when it has spoken, or another has come
}

// Unresponsive is closed while the keeper does not answer; Health says why then.
func (c *Client) Unresponsive() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.unresponsive
}

// Health is nil while the keeper answers, or has died and the next is looked for;
// else the code is keeper_unresponsive.
func (c *Client) Health() *messages.Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.outage == nil {
		return nil
	}
	return c.outage.err
}

func errSilent(pid int) *messages.Error {
	hint := "its jobs live; if it was stopped let it go on: kill -CONT " + strconv.Itoa(pid)
	if pid <= 0 {
		hint = "its jobs live; if it was stopped let it go on with SIGCONT"
	}
	return refused(messages.KeeperUnresponsive, "keeper", fmt.Sprintf("the keeper (process %d) does not answer", pid), hint)
}

// heartbeat looks whether the keeper answers, until the client ends.
func (c *Client) heartbeat() {
	defer close(c.heartbeatDone)
	every, patience := c.options.pace()
	for {
		if !c.pause(every) {
			return
		}
		conn, life := c.alive()
		for misses := 0; conn != nil; misses++ {
			bound := patience
			if misses == 2 {
				bound = min(patience, beatLast)
			}
			if c.ping(bound) {
				break
			}
			if now, heard := c.alive(); now != conn || heard != life {
				break // it has said something, or is another
			}
			if misses == 2 {
				c.enterOutage(conn)
				break
			}
		}
	}
}

func (o ClientOptions) pace() (every, patience time.Duration) {
	if o.beat > 0 {
		return o.beat, o.beat
	}
	return beatEvery, beatPatience
}

// valid is how long a start may be on its way.
func (o ClientOptions) valid() time.Duration {
	if o.beat > 0 {
		return 10 * o.beat
	}
	return startValid
}

// pause waits; false is the end of the client.
func (c *Client) pause(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-c.stop:
	case <-c.done:
	}
	return false
}

// ping reports false if the keeper let a question pass for so long.
func (c *Client) ping(bound time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	err := c.call(ctx, message{kind: askDone}, func(message) (bool, error) { return true, nil })
	return !errors.Is(err, context.DeadlineExceeded)
}

// alive gives the connection, nil between two, and how often something was heard.
func (c *Client) alive() (*conn, uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.conn, c.heartbeats.Load()
}

// enterOutage says of a keeper that it does not answer, and waits until it does.
// What waits for an answer gets this one.
func (c *Client) enterOutage(conn *conn) {
	c.mu.Lock()
	if c.conn != conn || c.closed {
		c.mu.Unlock()
		return
	}
	m := &outage{err: errSilent(c.keeper.PID), over: make(chan struct{})}
	c.outage = m
	close(c.unresponsive)
	calls := c.calls
	c.calls = map[uint64]*call{}
	jobs := c.allJobs()
	keeper, first := c.keeper, c.resumed != c.keeper.KeeperID
	c.resumed = c.keeper.KeeperID
	c.mu.Unlock()
	c.fault(m.err)
	for _, k := range calls {
		k.end(m.err)
	}
	for _, j := range jobs {
		j.failPending(m.err)
	}
	if first && !c.options.leave {
		wake(keeper.PID)
	}
	c.waitOutage(m)
}

// waitOutage waits until the keeper speaks. Starts that it has not answered fail when
// it will not take them any more.
func (c *Client) waitOutage(m *outage) {
	for {
		c.mu.Lock()
		jobs := c.allJobs()
		c.mu.Unlock()
		var next time.Time
		for _, j := range jobs {
			if at := j.expireStart(m.err); next.IsZero() || !at.IsZero() && at.Before(next) {
				next = at
			}
		}
		t := time.NewTimer(time.Until(next))
		if next.IsZero() {
			t.Stop()
		}
		select {
		case <-t.C:
		case <-m.over:
			t.Stop()
			return
		case <-c.stop:
			t.Stop()
			return
		case <-c.done:
			t.Stop()
			return
		}
	}
}

// allJobs is called with mu.
func (c *Client) allJobs() []*job {
	jobs := make([]*job, 0, len(c.jobs))
	for _, j := range c.jobs {
		jobs = append(jobs, j)
	}
	return jobs
}

// noteHeard notes that the keeper has said something.
func (c *Client) noteHeard() {
	c.heartbeats.Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endOutage()
}

// endOutage ends a silence. Called with mu.
func (c *Client) endOutage() {
	if c.outage == nil {
		return
	}
	close(c.outage.over)
	c.outage, c.unresponsive = nil, make(chan struct{})
}

// wake lets a keeper go on that somebody has stopped. It is not killed, whatever
// it does.
func wake(pid int) {
	if pid <= 1 || pid == os.Getpid() {
		return
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if stoppedNow(pid) {
		_ = unix.PidfdSendSignal(fd, unix.SIGCONT, nil, 0)
	}
}

// stoppedNow reports whether a process was stopped by a signal.
func stoppedNow(pid int) bool {
	f := statOf(pid)
	return len(f) > 0 && f[0] == "T"
}

// clock is one that both sides read alike; it rests while the machine sleeps.
func clock() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
