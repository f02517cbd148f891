//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"troupe/messages"
)

// plainTerminal turns off output processing and echo. The output is random, and
// sometimes contains a terminal query, which is answered.
const plainTerminal = "stty -opost -echo; "

// aTerminal returns the terminal of every job.
func aTerminal() messages.Terminal { return messages.Terminal{Rows: 24, Cols: 80} }

// ourFlood runs a job that writes to its terminal at full speed and exits.
type ourFlood struct{ *ourSpill }

func newOurFlood(ctx context.Context, e assignment) (runner, error) {
	e.Size.SpillMiB = e.Size.PtyMiB
	r, err := newOurSpill(ctx, e)
	o, _ := r.(*ourSpill)
	return ourFlood{o}, err
}

func (o ourFlood) round(ctx context.Context) (values, error) {
	start := time.Now()
	job, err := o.run(ctx, messages.RunCommand{Program: messages.Program{Text: plainTerminal + o.content.producer()}, Stdio: messages.Stdio{Terminal: aTerminal()}})
	if err != nil {
		return nil, err
	}
	took := time.Since(start)
	v := values{
		"rate": perSecond(int(o.content.bytes()), took) / 1e6,
		"lost": float64(o.content.bytes() - job.Output[0].Bytes), "wrong": 0,
	}
	if err := o.check(ctx, job.ID); errors.Is(err, errOtherBytes) {
		v["wrong"] = 1
	} else if err != nil {
		return nil, err
	}
	_, err = o.node.Ask(ctx, messages.RemoveJob{Job: job.ID}) // also removes its file
	return v, err
}

func (o ourFlood) close() error {
	if o.ourSpill == nil {
		return nil
	}
	return o.ourSpill.close()
}

// ourTerminals starts silent jobs on terminals, and measures this process when it is
// idle.
type ourTerminals struct {
	*ourNode
	n      int
	before float64 // KiB of memory before the first job
	kept   float64 // likewise of the keeper
	rounds int
}

func newOurTerminals(ctx context.Context, e assignment) (runner, error) {
	if most := terminalLimit(); most < e.Size.Terminals {
		return nil, lacking{fmt.Sprintf("kernel.pty.max is %d", most)}
	}
	h, err := openNode(ctx, e)
	if err != nil {
		return nil, err
	}
	if err := h.warm(ctx, messages.RunCommand{Stdio: messages.Stdio{Terminal: aTerminal()}}); err != nil {
		return nil, errors.Join(err, h.close())
	}
	return &ourTerminals{ourNode: h, n: e.Size.Terminals, before: ownStatus("VmRSS"), kept: statusOf(h.keeper, "VmRSS")}, nil
}

func (o *ourTerminals) close() error {
	if o.ourNode == nil {
		return nil
	}
	return o.ourNode.close()
}

func (o *ourTerminals) round(ctx context.Context) (values, error) {
	o.rounds++
	mark := sleepMark(o.rounds)
	err := inFlight(starters, o.n, func(i int) error {
		_, err := o.begin(ctx, messages.RunCommand{Scope: crowd, Session: inSession(i), Program: messages.Program{Argv: crowdArgv(mark)}, Stdio: messages.Stdio{Terminal: aTerminal()}})
		return err
	})
	if err != nil {
		return nil, err
	}
	settle(ctx, os.Getpid(), o.keeper)
	v := values{"threads": ownStatus("Threads"), "rss": (ownStatus("VmRSS") - o.before) / float64(o.n)}
	if o.keeper > 0 {
		v["threads"] = max(v["threads"], statusOf(o.keeper, "Threads"))
		v["kept"] = (statusOf(o.keeper, "VmRSS") - o.kept) / float64(o.n)
	}
	if _, err := o.stopAll(ctx, crowd); err != nil {
		return nil, err
	}
	left, err := marked(mark)
	v["left"] = float64(len(left))
	return v, err
}

// terminalLimit returns how many terminals this machine allows; 0: unknown.
func terminalLimit() int {
	text, _ := os.ReadFile("/proc/sys/kernel/pty/max")
	n, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return n
}
