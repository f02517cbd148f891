//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"troupe/messages"
)

// crowd is the scope of the jobs that are stopped together.
const crowd messages.ScopePath = "crowd"

// inSession spreads jobs over sessions, each of which runs 64 at a time.
func inSession(i int) messages.SessionID { return messages.SessionID(fmt.Sprintf("s%d", i/50)) }

// starters is how many jobs are submitted at a time: enough to keep the engine busy,
// far below the 1,024 unstarted jobs that a node admits.
const starters = 64

// ourCrowd starts jobs that live, and ends all of them with one request.
type ourCrowd struct {
	*ourNode
	n      int
	before float64 // KiB of memory before the first job
	kept   float64 // likewise of the keeper
	rounds int
}

func newOurCrowd(ctx context.Context, e assignment) (runner, error) {
	h, err := openNode(ctx, e)
	if err != nil {
		return nil, err
	}
	if err := h.warm(ctx, messages.RunCommand{}); err != nil {
		return nil, errors.Join(err, h.close())
	}
	return &ourCrowd{ourNode: h, n: e.Size.Live, before: ownStatus("VmRSS"), kept: statusOf(h.keeper, "VmRSS")}, nil
}

func (o *ourCrowd) round(ctx context.Context) (values, error) {
	o.rounds++
	mark := sleepMark(o.rounds)
	start := time.Now()
	err := inFlight(starters, o.n, func(i int) error {
		_, err := o.begin(ctx, messages.RunCommand{Scope: crowd, Session: inSession(i), Program: messages.Program{Argv: crowdArgv(mark)}})
		return err
	})
	if err != nil {
		return nil, err
	}
	v := values{
		"rate": perSecond(o.n, time.Since(start)), "threads": ownStatus("Threads"),
		"rss": (ownStatus("VmRSS") - o.before) / float64(o.n),
	}
	if o.keeper > 0 {
		v["threads"] = max(v["threads"], statusOf(o.keeper, "Threads"))
		v["kept"] = (statusOf(o.keeper, "VmRSS") - o.kept) / float64(o.n)
	}
	start = time.Now()
	named, err := o.stopAll(ctx, crowd)
	v["stop"] = time.Since(start).Seconds()
	if err != nil {
		return nil, err
	}
	left, err := marked(mark)
	v["left"] = float64(max(named, len(left)))
	calmDown(ctx, os.Getpid(), o.keeper) // removals after the stop must not slow the next side
	return v, err
}

// ourTrees stops jobs that are process trees.
type ourTrees struct {
	*ourNode
	trees, procs int
	self         string
	rounds       int
}

func newOurTrees(ctx context.Context, e assignment) (runner, error) {
	h, err := openNode(ctx, e)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	return &ourTrees{ourNode: h, trees: e.Size.Trees, procs: e.Size.Procs, self: self}, err
}

func (o *ourTrees) round(ctx context.Context) (values, error) {
	o.rounds++
	mark := sleepMark(o.rounds)
	err := inFlight(o.trees, o.trees, func(i int) error {
		job, err := o.begin(ctx, messages.RunCommand{Scope: crowd, Session: inSession(i), Program: messages.Program{Argv: treeArgv(o.self, o.procs, mark)}})
		if err != nil {
			return err
		}
		return o.grown(ctx, job.ID)
	})
	if err != nil {
		return nil, err
	}
	if err := fullyGrown(mark, o.trees*o.procs); err != nil {
		return nil, err
	}
	start := time.Now()
	named, err := o.stopAll(ctx, crowd)
	took := time.Since(start)
	if err != nil {
		return nil, err
	}
	left, err := marked(mark)
	return values{"stop": took.Seconds(), "left": float64(max(named, len(left)))}, err
}

// grown waits until a tree reports that it is complete.
func (o *ourTrees) grown(ctx context.Context, job messages.JobID) error {
	out, err := o.node.Output(ctx, job, messages.Merged, 0)
	if err != nil {
		return err
	}
	defer out.Close()
	said := make([]byte, len(treeReady))
	n, err := out.Read(said)
	if string(said[:n]) != treeReady {
		return fmt.Errorf("the tree %s printed %q, want %q: %w", job, said[:n], treeReady, err)
	}
	return nil
}
