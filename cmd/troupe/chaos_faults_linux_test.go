package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"troupe/internal/cli/config"
)

// chaosFault is one fault of a round.
type chaosFault struct {
	name  string
	after int           // requests of the round before it
	pause time.Duration // and a random instant
	pick  uint64        // which of several
}

// chaosRound is what happens in a round: jobs, and faults among them.
type chaosRound struct {
	number int
	jobs   []*chaosJob
	faults []chaosFault
	stop   bool // at its end jobs and keeper are stopped with the daemon

	evidence, notices string // files
	clients           sync.WaitGroup
	requests          chan struct{}

	// When, in this round, daemons and keepers were killed or ended; a full disk counts too.
	daemonDied, daemonKilled, keeperDied, aloneDied, filled []time.Time

	removed bool // sockets were removed
}

// chaosFaults are the faults that a round draws from.
var chaosFaults = []string{
	"kill daemon", "kill daemon", "kill daemon, client starts the next", "kill keeper", "kill daemon and keeper", "kill client", "kill client", "kill clients",
	"stop daemon", "stop keeper", "shutdown", "shutdown", "TERM daemon", "upgrade", "replace program",
	"remove socket", "remove directory of the socket", "remove both sockets", "remove socket of the keeper", "kill keeper of a detached job",
}

// planRound draws a round.
func planRound(rng *rand.Rand, number int, small bool) *chaosRound {
	r := &chaosRound{number: number, stop: rng.IntN(2) == 0, requests: make(chan struct{}, 1000)}
	for i := range chaosJobs {
		r.jobs = append(r.jobs, planJob(rng, fmt.Sprintf("r%d-%d", number, i)))
	}
	names := chaosFaults
	if rng.IntN(3) > 0 { // most rounds lose no job
		names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return strings.Contains(name, "kill") && strings.Contains(name, "keeper") })
	}
	if small {
		names = append(slices.Clone(names), slices.Repeat([]string{"fill disk"}, 8)...)
	}
	for range 3 + rng.IntN(5) {
		r.faults = append(r.faults, chaosFault{
			name: names[rng.IntN(len(names))], after: rng.IntN(chaosJobs - 5), pause: time.Duration(1+rng.IntN(60)) * time.Millisecond, pick: rng.Uint64(),
		})
	}
	slices.SortFunc(r.faults, func(a, b chaosFault) int { return a.after - b.after })
	return r
}

// count counts a request that was answered.
func (r *chaosRound) count() { r.requests <- struct{}{} }

func (r *chaosRound) noticeText() string { return "cat >>" + r.notices }

// play plays a round and judges it.
func (c *chaos) play(r *chaosRound) {
	c.t.Helper()
	if c.t.Failed() {
		return
	}
	c.log, c.begun = nil, time.Now()
	r.evidence, r.notices = c.file(fmt.Sprintf("evidence%d", r.number)), c.file(fmt.Sprintf("notices%d", r.number))
	if err := os.WriteFile(r.evidence, nil, 0o600); err != nil {
		c.t.Fatal(err)
	}
	if c.daemonPID() == 0 {
		c.serve()
	}
	faults := make(chan struct{})
	go func() {
		defer close(faults)
		seen := 0
		for _, f := range r.faults {
			for ; seen < f.after; seen++ {
				<-r.requests
			}
			pause(f.pause)
			c.note("%s", f.name)
			c.all.add("fault: "+f.name, 1)
			c.happens(r, f, &seen)
			c.note("%s: done", f.name)
		}
	}()
	_ = inTurns(len(r.jobs), 10, func(i int) error {
		c.begin(r, r.jobs[i])
		return nil
	})
	<-faults
	c.all.add("jobs", len(r.jobs))
	c.all.add("rounds", 1)
	c.all.mu.Lock()
	c.all.active += time.Since(c.begun)
	c.all.mu.Unlock()
	c.note("all requested")
	c.judge(r)
	if !c.t.Failed() {
		c.nothingLeft(r.stop)
	}
	if c.t.Failed() {
		c.t.Logf("round %d:\n%s", r.number, strings.Join(c.log, "\n"))
	}
}

// happens lets a fault happen, and ends it.
func (c *chaos) happens(r *chaosRound, f chaosFault, seen *int) {
	switch f.name {
	case "kill daemon", "TERM daemon", "kill daemon, client starts the next", "kill daemon and keeper":
		if f.name == "kill daemon and keeper" {
			c.killKeeper(r)
		}
		c.endDaemon(r, map[bool]syscall.Signal{true: syscall.SIGTERM, false: syscall.SIGKILL}[f.name == "TERM daemon"])
		if f.name == "kill daemon, client starts the next" {
			c.startsByClient(r)
		} else {
			c.serve()
		}
	case "kill keeper":
		c.killKeeper(r)
	case "kill keeper of a detached job":
		c.killAlone(r, f.pick)
	case "kill client":
		c.killClients(f.pick, 1)
	case "kill clients":
		c.killClients(f.pick, 5)
	case "stop daemon":
		c.halts(r, c.daemonPID(), f.pause)
	case "stop keeper":
		for _, pid := range keepersOf(c.state) {
			c.halts(r, pid, f.pause)
		}
	case "shutdown", "upgrade", "replace program":
		if f.name != "shutdown" {
			c.install(int(f.pick % 2))
		}
		if f.name != "replace program" {
			r.daemonDied = append(r.daemonDied, time.Now())
			p := c.troupe("shutdown").start()
			<-p.ended
			r.daemonDied = append(r.daemonDied, time.Now())
			c.serve()
		}
	case "fill disk":
		c.fills(r, f, seen)
	default:
		r.removed = true
		c.removes(f.name)
	}
}

// fills fills the disk until some jobs were requested.
func (c *chaos) fills(r *chaosRound, f chaosFault, seen *int) {
	r.filled = append(r.filled, time.Now())
	fill(c.t, c.full)
	for n := 3 + int(f.pick%8); n > 0 && *seen < len(r.jobs); n-- {
		select {
		case <-r.requests:
			*seen++
		case <-time.After(2 * time.Second): // the requests may wait for room
			n = 0
		}
	}
	if err := os.Remove(c.full); err != nil {
		c.t.Error(err)
	}
	r.filled = append(r.filled, time.Now(), time.Now().Add(journalRetry))
}

// journalRetry is how long the journal may still refuse requests when there is room again.
const journalRetry = 6 * time.Second

// removes removes sockets.
func (c *chaos) removes(what string) {
	common, second := c.file("run/troupe/"+config.SocketName), filepath.Join(c.state, config.SocketName)
	paths := map[string][]string{
		"remove socket": {common}, "remove directory of the socket": {filepath.Dir(common)}, "remove both sockets": {common, second},
	}[what]
	if what == "remove socket of the keeper" {
		paths, _ = filepath.Glob(filepath.Join(c.state, config.KeeperName, "*.sock"))
	}
	for _, path := range paths {
		_ = os.RemoveAll(path)
	}
}

// daemonPID is the daemon that runs; 0: none.
func (c *chaos) daemonPID() int {
	if pids := launched(c.state); len(pids) > 0 {
		pid, _ := strconv.Atoi(pids[0])
		return pid
	}
	select {
	case <-c.daemon.ended:
		return 0
	default:
		return c.daemon.Process.Pid
	}
}

// endDaemon sends the daemon a signal and waits for its end.
func (c *chaos) endDaemon(r *chaosRound, sig syscall.Signal) {
	pid := c.daemonPID()
	if pid == 0 {
		return
	}
	r.daemonDied = append(r.daemonDied, time.Now())
	if sig == syscall.SIGKILL {
		r.daemonKilled = append(r.daemonKilled, time.Now())
	}
	_ = syscall.Kill(pid, sig)
	settles(c.t, "daemons that were ended", 0, func() int { return map[bool]int{true: 1}[alive(strconv.Itoa(pid))] })
	r.daemonDied = append(r.daemonDied, time.Now())
}

// startsByClient lets a client start the next daemon.
func (c *chaos) startsByClient(r *chaosRound) {
	key := fmt.Sprintf("r%d-starts%d", r.number, len(r.daemonDied))
	p := c.troupe("run", "-b", "--name", key, "true").start()
	<-p.ended
	if !p.ProcessState.Success() {
		c.note("run -b, which starts a daemon: %v: %s", p.ProcessState, p.err)
	}
	if c.daemonPID() == 0 {
		c.serve()
	}
}

// killKeeper kills the keeper.
func (c *chaos) killKeeper(r *chaosRound) {
	for _, pid := range keepersOf(c.state) {
		r.keeperDied = append(r.keeperDied, time.Now())
		_ = syscall.Kill(pid, syscall.SIGKILL)
		settles(c.t, "keepers that were killed", 0, func() int { return map[bool]int{true: 1}[alive(strconv.Itoa(pid))] })
	}
}

// killAlone kills the keeper of a detached job.
func (c *chaos) killAlone(r *chaosRound, pick uint64) {
	all, _ := keepersIn(c.state)
	common := keepersOf(c.state)
	all = slices.DeleteFunc(all, func(pid int) bool { return slices.Contains(common, pid) })
	if len(all) > 0 {
		r.aloneDied = append(r.aloneDied, time.Now())
		_ = syscall.Kill(all[pick%uint64(len(all))], syscall.SIGKILL)
	}
}

// killClients kills some of the clients that run.
func (c *chaos) killClients(pick uint64, most int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]*process, 0, len(c.clients))
	for p := range c.clients {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b *process) int { return a.Process.Pid - b.Process.Pid })
	for n := 0; n < most && len(all) > 0; n++ {
		i := int(pick % uint64(len(all)))
		if all[i].Process.Kill() == nil {
			c.all.add("clients killed", 1)
			delete(c.clients, all[i])
		}
		all = slices.Delete(all, i, i+1)
	}
}

// halts stops a process for a short time, in which a client is started.
func (c *chaos) halts(r *chaosRound, pid int, least time.Duration) {
	if pid == 0 || syscall.Kill(pid, syscall.SIGSTOP) != nil {
		return
	}
	eventually(c.t, "a process that has stopped", func() bool {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		_, state, _ := strings.Cut(string(text), ") ")
		return state == "" || state[0] == 'T'
	})
	p := c.troupe("ps", "-a").start()
	pause(5 * least)
	_ = syscall.Kill(pid, syscall.SIGCONT)
	<-p.ended
	if !p.ProcessState.Success() && !(r.removed && strings.Contains(p.err.String(), "no daemon")) {
		c.wrong("hung", "ps beside a process that was stopped for a moment: %v: %s", p.ProcessState, p.err)
	}
}
