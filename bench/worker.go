//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/pprof"
)

// workerRole is the first argument of this program as a worker.
const workerRole = "worker"

// runner is one side of one scenario.
type runner interface {
	// round measures once. It leaves no process alive, except those that all rounds
	// share.
	round(ctx context.Context) (values, error)
	// close ends everything. It is called after an error of round, too.
	close() error
}

// runners create the sides of the scenarios. A runner returned with an error is also
// closed.
var runners = map[string]struct {
	ours, raw func(context.Context, assignment) (runner, error)
}{
	"cli-version":   {newOurVerb, newRawVerb},
	"cli-ps":        {newOurVerb, newRawVerb},
	"cli-run":       {newOurVerb, newRawVerb},
	"cli-run-alone": {newOurVerb, newRawVerb},
	"faults":        {newOurVerb, newOurVerb},
	"oneshot":       {newOurOneShots, newRawOneShots},
	"throughput":    {newOurBurst, newRawBurst},
	"shell-pty":     {newOurShellOnTerminal, newRawShellOnTerminal},
	"shell-pipe":    {newOurShell, newRawShell},
	"busy-1000":     {newOurBusy, newRawBusy},
	"spill":         {newOurSpill, newRawSpill},
	"pty-flood":     {newOurFlood, newRawFlood},
	"idle-4000":     {newOurTerminals, nil},
	"jobs-10000":    {newOurCrowd, newRawCrowd},
	"crowd-bare":    {newBareCrowd, newRawBesideBare},
	"cancel":        {newOurTrees, newRawTrees},
	"notify":        {newOurNotices, newRawNotices},
	"wake":          {newOurWake, nil},
	"top":           {newOurTop, nil},
	"ask":           {newOurAsks, newRawAsks},
	"daemon":        {newOurCommands, newOurCommands},
	"keeper":        {newOurCommands, newOurCommands},
	"mcp":           {newOurAgent, newOurCommands},
	"adopt":         {newOurAdoption, nil},
	"history":       {newOurHistory, nil},

	"history-tenfold": {newOurHistory, newOurHistory},
}

// lacking means that this machine cannot run a scenario.
type lacking struct{ what string }

func (l lacking) Error() string { return l.what }

// work runs rounds on request until its input ends. Then it ends what it started, even
// during a round.
func work(in io.Reader, out io.Writer) int {
	from, to := json.NewDecoder(in), json.NewEncoder(out)
	var e assignment
	if err := from.Decode(&e); err != nil {
		return 1
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	batons := make(chan struct{})
	go func() {
		defer cancel()
		var word string
		for from.Decode(&word) == nil {
			select {
			case batons <- struct{}{}:
			case <-ctx.Done():
			}
		}
	}()
	if err := serve(ctx, e, batons, to); err != nil && ctx.Err() == nil {
		_ = to.Encode(failure(err)) // without a message the driver sees the exit
		return 1
	}
	return 0
}

func serve(ctx context.Context, e assignment, batons <-chan struct{}, to *json.Encoder) (err error) {
	sides, known := runners[e.Scenario]
	if !known {
		return fmt.Errorf("unknown scenario %q", e.Scenario)
	}
	build := sides.ours
	if e.Side == raw {
		build = sides.raw
	}
	r, err := build(ctx, e)
	if r != nil {
		defer func() { err = errors.Join(err, r.close()) }()
	}
	if err != nil {
		return err
	}
	stop, err := profile(e)
	if err != nil {
		return err
	}
	defer stop()
	if err := to.Encode(answer{}); err != nil {
		return err
	}
	for {
		select {
		case <-batons:
		case <-ctx.Done():
			return nil
		}
		v, err := r.round(ctx)
		if err != nil {
			return err
		}
		if err := to.Encode(answer{Values: v}); err != nil {
			return err
		}
	}
}

func failure(err error) answer {
	var l lacking
	return answer{Error: err.Error(), Lacks: errors.As(err, &l)}
}

// profile writes a CPU profile of this side if requested.
func profile(e assignment) (stop func(), err error) {
	if e.Profile == "" {
		return func() {}, nil
	}
	f, err := os.Create(filepath.Join(e.Profile, e.Scenario+"-"+string(e.Side)+".pprof"))
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() {
		pprof.StopCPUProfile()
		_ = f.Close()
	}, nil
}
