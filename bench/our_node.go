//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"troupe/backends/keeper"
	"troupe/internal/node"
	"troupe/messages"
)

// ourNode is a node with its engine and its store.
type ourNode struct {
	node   *node.Node
	dir    string
	keeper int // process id; 0: jobs belong to this process
}

// closeTime bounds the shutdown of a node.
const closeTime = 30 * time.Second

func openNode(ctx context.Context, e assignment) (*ourNode, error) {
	dir := filepath.Join(e.Dir, "node-"+e.Scenario+"-"+string(e.Side))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	h := &ourNode{dir: dir}
	var err error
	if e.Side == held {
		var c *keeper.Client
		if h.node, c, err = openKept(ctx, dir, node.Options{WorkDir: dir}); err == nil {
			_, h.keeper = c.Keeper()
		}
		return h, err
	}
	h.node, err = node.Open(ctx, node.Options{Dir: filepath.Join(dir, "out"), WorkDir: dir, OwnProcess: e.Side != library})
	return h, err
}

// close stops all jobs at once.
func (h *ourNode) close() error {
	if h.node == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	return h.node.Shutdown(ctx, messages.ShutdownNode{Grace: -1, Reason: "the benchmark is over"})
}

// run runs a command to its end, which must be a success.
func (h *ourNode) run(ctx context.Context, r messages.RunCommand) (messages.Record, error) {
	return succeeded(h.node.Run(ctx, r))
}

// succeeded returns an error if a job is not a success.
func succeeded(job messages.Record, err error) (messages.Record, error) {
	if err == nil && (job.End.Outcome != messages.Exited || job.End.Shell() != 0) {
		err = fmt.Errorf("%q ended as %s with %d (%v)", job.Command, job.End.Outcome, job.End.Shell(), job.End.Err)
	}
	return job, err
}

// begin starts a command in the background and returns when it runs.
func (h *ourNode) begin(ctx context.Context, r messages.RunCommand) (messages.Record, error) {
	r.Mode = messages.ModeAsync
	job, err := h.node.Run(ctx, r)
	if err == nil && job.State != messages.Running {
		err = fmt.Errorf("%q is %s, not running (%v)", job.Command, job.State, job.End.Err)
	}
	return job, err
}

// warm runs one job to its end, so that the cost of the first job of a process does not
// count.
func (h *ourNode) warm(ctx context.Context, r messages.RunCommand) error {
	r.Argv = []string{"true"}
	_, err := h.run(ctx, r)
	return err
}

// stopAll stops all jobs of a scope without grace, and returns the number of survivors
// that the node reports.
func (h *ourNode) stopAll(ctx context.Context, scope messages.ScopePath) (int, error) {
	reply, err := h.node.Ask(ctx, messages.StopCommand{Scope: scope, Grace: -1, Reason: "benchmark"})
	if err != nil {
		return 0, err
	}
	stopped, is := reply.(messages.CommandStopped)
	if !is {
		return 0, fmt.Errorf("the stop was answered with %#v", reply)
	}
	return len(stopped.Survivors), nil
}

// notices receives the ends of jobs.
type notices struct{ sub *node.Subscription }

func (h *ourNode) subscribe(ctx context.Context) (notices, error) {
	sub, err := h.node.Subscribe(ctx, messages.Subscribe{Now: true, Window: messages.MaxOutbox, Filter: messages.Filter{Ends: true}})
	return notices{sub}, err
}

// next returns the next job that has finished.
func (n notices) next(ctx context.Context) (messages.Record, error) {
	for {
		told, err := n.sub.Next(ctx)
		if err != nil {
			return messages.Record{}, err
		}
		switch m := told.(type) {
		case messages.FactsDropped:
			return messages.Record{}, errors.New("notices were dropped: the subscriber is too slow for this round")
		case messages.Notification:
			if end, is := m.Fact.(messages.CommandFinished); is {
				return end.Job, nil
			}
		}
	}
}
