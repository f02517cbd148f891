//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"troupe/client"
	"troupe/host"
	"troupe/messages"
)

// ourAdoption kills a daemon with live jobs. It measures the time from the start of the
// next daemon until all jobs are adopted and answer. The jobs live through all rounds.
type ourAdoption struct {
	dir    string
	daemon *daemon
	n      int
	talk   []messages.JobID // jobs that echo their input
	words  int64            // bytes sent to each of them so far
}

// talkers is the number of jobs that echo.
const talkers = 16

func newOurAdoption(ctx context.Context, e assignment) (runner, error) {
	o := &ourAdoption{dir: filepath.Join(e.Dir, "adopted"), n: e.Size.Adopted}
	if err := os.Mkdir(o.dir, 0o700); err != nil {
		return nil, err
	}
	var err error
	if o.daemon, err = startDaemon(ctx, o.dir, whole); err != nil {
		return nil, err
	}
	o.talk = make([]messages.JobID, min(talkers, o.n))
	return o, inFlight(starters/2, o.n, func(i int) error { // it takes 64 connections
		r := messages.RunCommand{Session: inSession(i), Program: messages.Program{Argv: crowdArgv(sleepMark(0))}, Mode: messages.ModeAsync}
		every := o.n / len(o.talk)
		talks := i%every == 0 && i/every < len(o.talk)
		if talks {
			r.Argv, r.Stdin = []string{"cat"}, messages.StdinPipe
		}
		result, err := o.daemon.Run(ctx, r)
		if err == nil && talks {
			o.talk[i/every] = result.Job.ID
		}
		return err
	})
}

func (o *ourAdoption) round(ctx context.Context) (values, error) {
	if err := o.daemon.kill(); err != nil {
		return nil, err
	}
	start := time.Now()
	d, err := startDaemon(ctx, o.dir, whole)
	if err != nil {
		o.daemon = nil
		return nil, err
	}
	o.daemon = d
	running, err := o.running(ctx)
	if err != nil {
		return nil, err
	}
	if err := inFlight(len(o.talk), len(o.talk), func(i int) error { return o.answers(ctx, o.talk[i]) }); err != nil {
		return nil, err
	}
	took := time.Since(start)
	o.words += int64(len(word))
	return values{"adopted": took.Seconds() * 1000, "lost": float64(o.n - running)}, nil
}

// running returns how many jobs run, after the keeper has reported starts that the last
// daemon did not record.
func (o *ourAdoption) running(ctx context.Context) (int, error) {
	for {
		list, err := host.Ask(ctx, o.daemon.Host(), messages.ListJobs{})
		if err != nil {
			return 0, err
		}
		states := map[messages.State]int{}
		for _, job := range list.Jobs {
			states[job.State]++
		}
		if states[messages.Starting] == 0 {
			return states[messages.Running], nil
		}
	}
}

const word = "hello\n"

// answers sends a word to a job and waits for its echo.
func (o *ourAdoption) answers(ctx context.Context, id messages.JobID) error {
	if _, err := host.Ask(ctx, o.daemon.Host(), messages.WriteInput{Job: id, Data: []byte(word)}); err != nil {
		return err
	}
	out, err := o.daemon.Output(ctx, id, client.Range{Offset: o.words, Limit: int64(len(word)), Follow: true})
	if err != nil {
		return err
	}
	defer out.Close()
	said := make([]byte, len(word))
	for n := 0; n < len(said); {
		m, err := out.Read(said[n:])
		if n += m; err != nil && n < len(said) {
			return fmt.Errorf("%s printed %q: %w", id, said[:n], err)
		}
	}
	if string(said) != word {
		return fmt.Errorf("%s printed %q, want %q", id, said, word)
	}
	return nil
}

func (o *ourAdoption) close() error {
	if o.daemon == nil {
		return nil
	}
	return o.daemon.close()
}
