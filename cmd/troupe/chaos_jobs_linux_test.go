package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/oklog/ulid/v2"

	"troupe/messages"
)

// chaosKind is how a job is requested.
type chaosKind string

const (
	apiBackground chaosKind = "api, background"
	apiForeground chaosKind = "api, foreground"
	cliRun        chaosKind = "run"
	cliTerminal   chaosKind = "run --pty"
	cliShell      chaosKind = "run -s"
	cliBackground chaosKind = "run -b"
	cliDetached   chaosKind = "run --detach"
)

// chaosKinds are the kinds of a round's jobs, each as often as it is listed.
var chaosKinds = []chaosKind{
	apiBackground, apiBackground, apiBackground, apiBackground, apiBackground, apiBackground, apiBackground,
	apiForeground, apiForeground, cliRun, cliRun, cliTerminal, cliShell, cliShell, cliBackground, cliDetached,
}

// chaosEnd is how a job ends.
type chaosEnd int

const (
	byExit chaosEnd = iota
	byKill
	byTimeout
	byStop
)

// chaosJob is one job of a round: its plan, and what its clients were told.
type chaosJob struct {
	key      string // also its name
	kind     chaosKind
	end      chaosEnd
	status   int
	lines    int
	sleep    int // milliseconds
	scope    string
	session  string
	notice   bool
	followed bool // by logs -f
	awaited  bool // by wait

	mu        sync.Mutex
	requested time.Time
	accepted  bool   // a client was told that the job has begun, or is queued
	refusal   string // what the client was told instead
	killed    bool   // its foreground client was killed
	told      []toldEnd
}

// toldEnd is what a client was told of the end of a job.
type toldEnd struct {
	who            string
	status         int // exit status
	output, stderr string
	shown          bool // it prints the output
	terminal       bool
	killed         bool // by the test
	hung           bool
}

// planJob draws a job.
func planJob(rng *rand.Rand, key string) *chaosJob {
	j := &chaosJob{key: key, kind: chaosKinds[rng.IntN(len(chaosKinds))], status: rng.IntN(100), lines: rng.IntN(40), sleep: rng.IntN(120)}
	switch rng.IntN(12) {
	case 0:
		j.lines = 2000 + rng.IntN(15000) // most of which outgrow the memory
	case 1, 2:
		j.sleep = 300 + rng.IntN(1200)
	}
	j.scope = []string{"main", "main/a", "main/b"}[rng.IntN(3)]
	j.notice = j.kind != cliDetached && rng.IntN(6) == 0
	j.followed, j.awaited = rng.IntN(7) == 0, rng.IntN(7) == 0
	switch end := rng.IntN(20); {
	case j.kind == cliShell:
		j.session, j.scope = []string{"one", "two", "screen"}[rng.IntN(3)], "main"
	case end == 0:
		j.end, j.status = byKill, 128+int(syscall.SIGKILL)
	case end == 1 && j.kind == apiBackground:
		j.end = byTimeout
	case end == 2 && j.kind == apiBackground:
		j.end = byStop
	}
	return j
}

// text is the shell text of a job, which writes to a file what it does.
func (j *chaosJob) text(evidence string) string {
	end := fmt.Sprintf("exit %d", j.status)
	switch j.end {
	case byKill:
		end = "kill -KILL $BASHPID; exit 99"
	case byTimeout, byStop:
		end = "sleep 600"
	case byExit:
	}
	half := func(from, to int) string { return fmt.Sprintf("seq -f '%s %%.0f' %d %d", j.key, from, to) }
	if j.lines < 100 {
		half = func(from, to int) string {
			return fmt.Sprintf("for ((i=%d;i<=%d;i++)); do echo %s $i; done", from, to, j.key)
		}
	}
	done := fmt.Sprintf("echo end %s %d >&9; ", j.key, j.status)
	if j.end == byTimeout || j.end == byStop {
		done = ""
	}
	text := fmt.Sprintf("exec 9>>%s; echo start %s ${TROUPE_JOB_ID:-none} >&9; %s; sleep %d.%03d; %s; %s%s",
		evidence, j.key, half(1, j.lines/2), j.sleep/1000, j.sleep%1000, half(j.lines/2+1, j.lines), done, end)
	if j.kind == cliShell {
		return "(" + text + ")"
	}
	return text
}

// output is all that a job prints.
func (j *chaosJob) output() string {
	var b strings.Builder
	for i := 1; i <= j.lines; i++ {
		fmt.Fprintf(&b, "%s %d\n", j.key, i)
	}
	return b.String()
}

// begin requests a job and returns when it has begun or is refused; a foreground client goes
// on in a goroutine of the group.
func (c *chaos) begin(r *chaosRound, j *chaosJob) {
	j.requested = time.Now()
	defer r.count()
	switch j.kind {
	case apiBackground, apiForeground:
		c.request(r, j)
		return
	case cliRun, cliTerminal, cliShell, cliBackground, cliDetached:
	}
	args := []string{"run", "--name", j.key, "--scope", j.scope}
	if j.notice {
		args = append(args, "--on-finish", r.noticeText())
	}
	switch j.kind {
	case cliShell:
		args = append(args, "-s", j.session)
		if j.session == "screen" {
			args = append(args, "-t", "-n")
		}
	case cliBackground:
		args = append(args, "-b")
	case cliDetached:
		args = append(args, "--detach")
	case cliTerminal:
		args = append(args, "--pty")
	case cliRun, apiBackground, apiForeground:
	}
	p := c.troupe(append(args, j.text(r.evidence))...)
	if j.kind != cliBackground && j.kind != cliDetached {
		r.clients.Go(func() { c.follow(j, p, j.kind == cliTerminal) })
		return
	}
	switch told := c.ends(j, p); {
	case told.hung:
		told.who = string(j.kind)
		j.tells(told)
	case told.killed:
		j.killed = true
	case told.status == 0:
		j.takes("")
		c.watch(r, j)
	default:
		j.takes(told.stderr)
	}
}

// request sends a job over the socket.
func (c *chaos) request(r *chaosRound, j *chaosJob) {
	run := messages.RunCommand{
		UID: messages.UID(ulid.Make().String()), Labels: messages.Labels{Name: j.key}, Scope: messages.ScopePath(j.scope), Program: messages.Program{Text: j.text(r.evidence)}, Env: messages.Env{Set: []string{"CHAOS=" + c.dir}},
		Grace: time.Second,
	}
	if j.kind == apiBackground {
		run.Mode = messages.ModeAsync
	}
	if j.notice {
		run.OnFinish = []string{r.noticeText()}
	}
	if j.end == byTimeout {
		run.Timeout = 300 * time.Millisecond
	}
	ask := func() {
		ctx, cancel := context.WithTimeout(c.t.Context(), tooLong)
		defer cancel()
		result, err := c.client.Run(ctx, run)
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			j.tells(toldEnd{who: string(j.kind), hung: true})
		case err != nil:
			c.note("%s (%s): %v", j.key, j.kind, err)
			j.takes(err.Error())
			c.stops(r, j) // it may run nevertheless
		case run.Mode.Background():
			j.takes("")
			c.watch(r, j)
		default:
			j.takes("")
			j.tells(toldEnd{who: string(j.kind), status: result.Job.ExitCode()})
		}
	}
	if run.Mode.Background() {
		ask()
	} else {
		r.clients.Go(ask)
	}
}

// watch lets clients wait for a job, follow it, or stop it.
func (c *chaos) watch(r *chaosRound, j *chaosJob) {
	scope := []string{"--scope", j.scope, j.key}
	if j.awaited {
		r.clients.Go(func() { c.untilFound(j, append([]string{"wait"}, scope...)) })
	}
	if j.followed {
		r.clients.Go(func() { c.untilFound(j, append([]string{"logs", "-f"}, scope...)) })
	}
	c.stops(r, j)
}

// stops lets a client stop a job that does not end by itself.
func (c *chaos) stops(r *chaosRound, j *chaosJob) {
	if j.end != byStop {
		return
	}
	r.clients.Go(func() {
		for late := time.Now().Add(tooLong); time.Now().Before(late); {
			told := c.ends(j, c.troupe("stop", "--grace", "1s", "--scope", j.scope, j.key))
			if !told.killed && (told.status == 0 || strings.Contains(told.stderr, "already") || strings.Contains(told.stderr, "there is no job")) {
				c.note("stop of %s: %d %s", j.key, told.status, told.stderr)
				return
			}
		}
	})
}

// untilFound runs a client that waits for a job until it has found a daemon.
func (c *chaos) untilFound(j *chaosJob, args []string) {
	for late := time.Now().Add(tooLong); time.Now().Before(late); {
		told := c.ends(j, c.troupe(args...))
		if told.status == 1 && strings.Contains(told.stderr, "no daemon") {
			continue
		}
		told.who, told.shown = args[0], args[0] == "logs"
		j.tells(told)
		return
	}
	j.tells(toldEnd{who: args[0], hung: true})
}

// follow runs a client in the foreground.
func (c *chaos) follow(j *chaosJob, p *process, terminal bool) {
	var told toldEnd
	if terminal {
		told = c.endsAtATerminal(j, p)
	} else {
		told = c.ends(j, p)
	}
	told.who, told.shown, told.terminal = string(j.kind), true, terminal || j.session == "screen"
	j.mu.Lock()
	j.killed = told.killed
	j.mu.Unlock()
	j.tells(told)
}

// ends starts a client and waits for its end. The clients that run can be killed meanwhile.
func (c *chaos) ends(j *chaosJob, p *process) toldEnd {
	p.start()
	if side, is := p.Stdin.(*os.File); is {
		_ = side.Close() // of a terminal: the client's is the last one
	}
	c.mu.Lock()
	c.clients[p] = j
	c.mu.Unlock()
	<-p.ended
	c.mu.Lock()
	_, alone := c.clients[p]
	delete(c.clients, p)
	c.mu.Unlock()
	c.all.add("clients", 1)
	told := toldEnd{status: p.ProcessState.ExitCode(), stderr: p.err.String(), killed: !alone}
	if out, is := p.Stdout.(*lines); is {
		told.output = out.String()
	}
	if status, ok := p.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		told.hung = alone // the test's context has killed it
	}
	return told
}

// endsAtATerminal does so for a client at a terminal of its own.
func (c *chaos) endsAtATerminal(j *chaosJob, p *process) toldEnd {
	at := openTerminal(c.t)
	p.Stdin, p.Stdout, p.Stderr = at.side, at.side, at.side
	p.SysProcAttr.Setsid, p.SysProcAttr.Setctty = true, true
	p.seen = at.reads()
	told := c.ends(j, p)
	told.output = at.shown.String()
	return told
}

// takes notes the answer to the request of a job; "": it has begun, or is queued.
func (j *chaosJob) takes(refusal string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.accepted, j.refusal = refusal == "", refusal
}

func (j *chaosJob) tells(told toldEnd) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.told = append(j.told, told)
}
