//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package engine

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"troupe/messages"
)

// group is the process group of the main process, which is all that can be
// reached here. Results say so.
type group struct {
	h   *host
	job *job
}

func (g *group) isolation() messages.Isolation { return messages.Group }

func (g *group) path() string { return "" }

// alive asks with signal 0, which changes nothing, whoever is meant.
func (g *group) alive() bool { return g.h.sys.Kill(-g.job.root.pid, 0) == nil }

func (g *group) count(tell func(int, bool)) {
	if g.alive() {
		tell(1, false) // how many there are is not known
		return
	}
	tell(0, true)
}

// await looks ever more seldom: there is no event for the end of a group.
func (g *group) await(empty func()) {
	g.h.e.run(g.job, func() {
		for pause := pollFirst; g.alive(); pause = min(2*pause, pollLast) {
			if !g.h.rest(pause) {
				return
			}
		}
		empty()
	})
}

func (g *group) signal(sigs ...syscall.Signal) {
	for _, sig := range sigs {
		_ = g.h.sys.Kill(-g.job.root.pid, sig)
	}
}

// groupRounds bounds the kill.
const (
	groupRounds = 5
	killPause   = 2 * time.Millisecond
)

func (*group) atOnce() bool { return false }

func (g *group) kill() {
	for range groupRounds {
		g.signal(unix.SIGKILL)
		if !g.alive() || !g.h.rest(killPause) {
			return
		}
	}
}

// pids are not to be had; nobody asks.
func (g *group) pids() []int { return nil }

func (g *group) survivors() []messages.Survivor {
	if !g.alive() {
		return nil
	}
	return []messages.Survivor{{PID: g.job.root.pid, State: "?", Why: "its process group did not end within two seconds of its KILL"}}
}

func (g *group) oom(messages.ExitStatus, int64) messages.Tristate { return messages.Unknown }

func (g *group) end() {}
