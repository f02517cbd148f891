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

// silence is a time in which a keeper that lives says nothing.
type silence struct {
	err  *messages.Error
	over chan struct{} // closed when it has spoken, or another has come
}

// Silent is closed while the keeper does not answer; Health says why then.
func (c *Client) Silent() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.silent
}

// Health is nil while the keeper answers, or has died and the next is looked for;
// else the code is keeper_unresponsive.
func (c *Client) Health() *messages.Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mute == nil {
		return nil
	}
	return c.mute.err
}

func errSilent(pid int) *messages.Error {
	hint := "its jobs live; if it was stopped let it go on: kill -CONT " + strconv.Itoa(pid)
	if pid <= 0 {
		hint = "its jobs live; if it was stopped let it go on with SIGCONT"
	}
	return refused(messages.KeeperUnresponsive, "keeper", fmt.Sprintf("the keeper (process %d) does not answer", pid), hint)
}

// beat looks whether the keeper answers, until the client ends.
func (c *Client) beat() {
	defer close(c.beaten)
	every, patience := c.o.pace()
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
			if c.ask(bound) {
				break
			}
			if now, heard := c.alive(); now != conn || heard != life {
				break // it has said something, or is another
			}
			if misses == 2 {
				c.fallSilent(conn)
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

// ask reports false if the keeper let a question pass for so long.
func (c *Client) ask(bound time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	err := c.call(ctx, message{kind: askDone}, func(message) (bool, error) { return true, nil })
	return !errors.Is(err, context.DeadlineExceeded)
}

// alive gives the connection, nil between two, and how often something was heard.
func (c *Client) alive() (*conn, uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.conn, c.life.Load()
}

// fallSilent says of a keeper that it does not answer, and waits until it does.
// What waits for an answer gets this one.
func (c *Client) fallSilent(conn *conn) {
	c.mu.Lock()
	if c.conn != conn || c.closed {
		c.mu.Unlock()
		return
	}
	m := &silence{err: errSilent(c.keeper.PID), over: make(chan struct{})}
	c.mute = m
	close(c.silent)
	calls := c.calls
	c.calls = map[uint64]*call{}
	jobs := c.allJobs()
	keeper, first := c.keeper, c.revived != c.keeper.KeeperID
	c.revived = c.keeper.KeeperID
	c.mu.Unlock()
	c.fault(m.err)
	for _, k := range calls {
		k.end(m.err)
	}
	for _, j := range jobs {
		j.unheard(m.err)
	}
	if first && !c.o.leave {
		wake(keeper.PID)
	}
	c.sitOut(m)
}

// sitOut waits until the keeper speaks. Starts that it has not answered fail when
// it will not take them any more.
func (c *Client) sitOut(m *silence) {
	for {
		c.mu.Lock()
		jobs := c.allJobs()
		c.mu.Unlock()
		var next time.Time
		for _, j := range jobs {
			if at := j.expire(m.err); next.IsZero() || !at.IsZero() && at.Before(next) {
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

// spoke notes that the keeper has said something.
func (c *Client) spoke() {
	c.life.Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unmute()
}

// unmute ends a silence. Called with mu.
func (c *Client) unmute() {
	if c.mute == nil {
		return
	}
	close(c.mute.over)
	c.mute, c.silent = nil, make(chan struct{})
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
