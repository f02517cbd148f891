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

// Timing of the heartbeat: a keeper that misses three pings is unresponsive. A hang is
// noticed within 10 s.
const (
	heartbeatEvery   = 5 * time.Second
	heartbeatTimeout = 2 * time.Second
	heartbeatLast    = time.Second
	// startValid is how long a start is valid: longer than it takes to detect an unresponsive
	// keeper. The keeper refuses an older one.
	startValid = 15 * time.Second
)

// outage is a period in which a running keeper does not answer.
type outage struct {
	err  *messages.Error
	over chan struct{} // closed when it answers, or another keeper is connected
}

// Unresponsive returns a channel that is closed while the keeper does not answer;
// Health gives the reason.
func (c *Client) Unresponsive() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.unresponsive
}

// Health returns nil while the keeper answers, or has died and a new one is looked for.
// Otherwise the code is keeper_unresponsive.
func (c *Client) Health() *messages.Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.outage == nil {
		return nil
	}
	return c.outage.err
}

func errSilent(pid int) *messages.Error {
	hint := "its jobs still run; if it was stopped, continue it: kill -CONT " + strconv.Itoa(pid)
	if pid <= 0 {
		hint = "its jobs still run; if it was stopped, continue it with SIGCONT"
	}
	return refused(messages.KeeperUnresponsive, "keeper", fmt.Sprintf("the keeper (process %d) does not answer", pid), hint)
}

// heartbeat checks that the keeper answers, until the client ends.
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
				bound = min(patience, heartbeatLast)
			}
			if c.ping(bound) {
				break
			}
			if now, heard := c.alive(); now != conn || heard != life {
				break // it has sent something, or was replaced
			}
			if misses == 2 {
				c.enterOutage(conn)
				break
			}
		}
	}
}

func (o ClientOptions) pace() (every, patience time.Duration) {
	if o.heartbeat > 0 {
		return o.heartbeat, o.heartbeat
	}
	return heartbeatEvery, heartbeatTimeout
}

// valid returns how long a start is valid.
func (o ClientOptions) valid() time.Duration {
	if o.heartbeat > 0 {
		return 10 * o.heartbeat
	}
	return startValid
}

// pause waits for d. It returns false when the client ends.
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

// ping reports whether the keeper answers within bound.
func (c *Client) ping(bound time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	err := c.call(ctx, message{kind: askDone}, func(message) (bool, error) { return true, nil })
	return !errors.Is(err, context.DeadlineExceeded)
}

// alive returns the connection, nil between two, and the number of datagrams received.
func (c *Client) alive() (*conn, uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.conn, c.heartbeats.Load()
}

// enterOutage reports the keeper as unresponsive, fails what waits for it, and waits
// until it answers.
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

// waitOutage waits until the keeper answers. Starts without an answer fail when they
// expire.
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

// allJobs returns all jobs. The caller holds mu.
func (c *Client) allJobs() []*job {
	jobs := make([]*job, 0, len(c.jobs))
	for _, j := range c.jobs {
		jobs = append(jobs, j)
	}
	return jobs
}

// noteHeard records that the keeper has sent a datagram.
func (c *Client) noteHeard() {
	c.heartbeats.Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endOutage()
}

// endOutage ends an outage. The caller holds mu.
func (c *Client) endOutage() {
	if c.outage == nil {
		return
	}
	close(c.outage.over)
	c.outage, c.unresponsive = nil, make(chan struct{})
}

// wake sends CONT to a stopped keeper. It never kills one.
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

// stoppedNow reports whether a process is stopped by a signal.
func stoppedNow(pid int) bool {
	f := statOf(pid)
	return len(f) > 0 && f[0] == "T"
}

// clock returns a monotonic time that both sides share; it stands still during suspend.
func clock() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
