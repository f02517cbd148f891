package logs

import (
	"errors"
	"fmt"
	"sync"

	"troupe/host"
	"troupe/internal/cli"
	"troupe/internal/cli/connect"
	"troupe/internal/cli/out"
	"troupe/internal/cli/terminal"
	"troupe/messages"
)

// source is a job whose output is printed.
type source struct {
	id      messages.JobID
	uid     messages.JobID
	name    string
	streams []messages.Stream
	live    bool
	cols    int // of its terminal; 0: none

	label  string // of several jobs
	prefix func(*terminal.Stream) string
}

// maxFollowed bounds the live jobs that are followed at once: each has a connection to the daemon.
const maxFollowed = 256

// listPage is how many jobs of a scope one request lists.
const listPage = 500

// sources returns the jobs that the arguments name, or those of the scope, oldest first.
func (f *Flags) sources(a *connect.Command) (all []source, err error) {
	for _, arg := range a.Args {
		found, err := host.Ask(a.Ctx, a.Host(), messages.FindJob{Job: messages.JobID(arg)})
		if err != nil {
			return nil, err
		}
		s, err := f.source(found.Job)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	if len(a.Args) > 0 {
		return all, nil
	}
	r := messages.ListJobs{Scope: messages.ScopePath(f.Scope), Finished: true, Limit: listPage}
	for {
		list, err := host.Ask(a.Ctx, a.Host(), r)
		if err != nil {
			return nil, err
		}
		for _, job := range list.Jobs {
			if s, err := f.source(job); err == nil { // others never started, or do not have the stream
				all = append(all, s)
			}
		}
		if r.Cursor = list.Next; r.Cursor == "" {
			return all, nil
		}
	}
}

func (f *Flags) source(job messages.Record) (source, error) {
	streams, err := f.streams(job)
	return source{id: job.ID, uid: connect.UID(job), name: job.Name, streams: streams, live: !job.State.Ended(), cols: job.Terminal.Cols}, err
}

// named gives each job its label: its name, unless another of them has it, too.
func named(all []source) (width int) {
	count := map[string]int{}
	for _, j := range all {
		count[j.name]++
	}
	for i := range all {
		j := &all[i]
		if j.label = j.name; j.name == "" || count[j.name] > 1 {
			j.label = string(j.id)
		}
		width = max(width, len(j.label))
	}
	return width
}

// showAll prints several jobs, each line after the label of its job: one job after the other, and
// with -f those that live at the same time.
func showAll(a *connect.Command, f *Flags, all []source, s *terminal.Printer) error {
	width, problems, live := named(all), &failures{command: a, searches: f.Grep != ""}, []source{}
	for i := range all {
		all[i].prefix = prefixes(a, all[i].label, width, i)
		if f.Follow && all[i].live {
			live = append(live, all[i])
		}
	}
	if len(live) > maxFollowed {
		e := messages.Invalid("follow", fmt.Sprintf("%d jobs are live; logs -f follows at most %d", len(live), maxFollowed))
		e.Hint = "name the jobs, or a smaller scope"
		return e
	}
	for _, j := range all {
		if f.Follow && j.live {
			continue
		}
		if err := problems.add(show(a, f, j, s)); err != nil {
			return err
		}
	}
	ended := make(chan error, len(live))
	for _, j := range live {
		go func() { ended <- problems.add(show(a, f, j, s)) }()
	}
	for range live {
		if err := <-ended; err != nil {
			return err
		}
	}
	return problems.status()
}

// prefixes returns what stands before the lines of a job on one of our streams.
func prefixes(a *connect.Command, label string, width, number int) func(*terminal.Stream) string {
	_, plain := a.Main.Getenv("NO_COLOR")
	return func(to *terminal.Stream) string { return labelled(label, width, number, to.Terminal && !plain) }
}

// failures are the errors of some of several jobs.
type failures struct {
	command  *connect.Command
	searches bool // for --grep
	mu       sync.Mutex
	first    error
	matched  bool // a line of a job matched --grep
}

// add prints the error of one job, and returns one that ends the verb: nothing more can be
// written or read.
func (p *failures) add(err error) error {
	var status cli.ExitStatus
	var write *out.OutputError
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err == nil:
		p.matched = true
		return nil
	case errors.Is(err, errNoMatch):
		return nil
	case p.command.Ctx.Err() != nil, errors.As(err, &write), errors.Is(err, connect.DaemonLeft):
		return err
	case !errors.As(err, &status): // else it is printed
		p.command.PrintError(err)
	}
	if p.first == nil {
		p.first = err
	}
	return nil
}

// status returns the exit status of the first error.
func (p *failures) status() error {
	var status cli.ExitStatus
	switch {
	case p.first == nil && (p.matched || !p.searches):
		return nil
	case p.first == nil:
		return errNoMatch
	case errors.As(p.first, &status):
		return status
	}
	return cli.ExitStatus(out.StatusOf(p.command.Main, out.Coded(p.first)))
}
