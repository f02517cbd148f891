//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package engine

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"troupe/messages"
)

// groupTree tracks a job by the main process's group, the only means here. Results say
// so.
type groupTree struct {
	platform *platform
	job      *job
}

func (g *groupTree) isolation() messages.Isolation { return messages.Group }

func (g *groupTree) path() string { return "" }

// alive reports whether the group exists, by signal 0.
func (g *groupTree) alive() bool { return g.platform.sys.Kill(-g.job.proc.pid, 0) == nil }

func (g *groupTree) count(tell func(int, bool)) {
	if g.alive() {
		tell(1, false) // the number is not known
		return
	}
	tell(0, true)
}

// await polls at growing intervals: the end of a group has no event.
func (g *groupTree) await(empty func()) {
	g.platform.engine.run(g.job, func() {
		for pause := pollFirst; g.alive(); pause = min(2*pause, pollLast) {
			if !g.platform.rest(pause) {
				return
			}
		}
		empty()
	})
}

func (g *groupTree) signal(sigs ...syscall.Signal) {
	for _, sig := range sigs {
		_ = g.platform.sys.Kill(-g.job.proc.pid, sig)
	}
}

// groupRounds bounds the kill.
const (
	groupRounds = 5
	killPause   = 2 * time.Millisecond
)

func (*groupTree) atOnce() bool { return false }

func (g *groupTree) kill() {
	for range groupRounds {
		g.signal(unix.SIGKILL)
		if !g.alive() || !g.platform.rest(killPause) {
			return
		}
	}
}

// pids returns nil: processes are not visible here.
func (g *groupTree) pids() []int { return nil }

func (g *groupTree) survivors() []messages.Survivor {
	if !g.alive() {
		return nil
	}
	return []messages.Survivor{{PID: g.job.proc.pid, State: "?", Why: "its process group did not end within two seconds of its KILL"}}
}

func (g *groupTree) oom(messages.ExitStatus, bool, int64) messages.Tristate { return messages.Unknown }

func (g *groupTree) end() {}
