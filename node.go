package troupe

import (
	"cmp"
	"context"
	"iter"
	"log/slog"
	"os"

	"troupe/actors"
	"troupe/client"
	"troupe/host"
	"troupe/internal/gateway/http/peer"
	"troupe/internal/node"
	"troupe/messages"
)

// The words of the library are those of package messages.
type (
	// Command is the request of one job: where and how it runs. The zero value of each field is
	// the default.
	Command = messages.RunCommand
	// Record is what is known of a job.
	Record = messages.Record
	// Error is a refusal: a code for programs, a sentence and a hint for people.
	Error = messages.Error
	// Event is a fact with its number.
	Event = messages.Notification
	// Events selects events.
	Events = messages.Subscribe
	// Plan is how a session is opened.
	Plan = messages.SessionPlan
)

// Options configure a node in this process. The zero value will do.
type Options struct {
	// Dir is the absolute path of the directory for outputs that outgrow memory; "":
	// <tmp>/troupe-<uid>. It must belong to this user alone, or not exist yet.
	Dir string
	// WorkDir is the absolute path of the directory of jobs that name none; "": that of this
	// process.
	WorkDir string
	// Shells adds shells that commands may name: the program, and the arguments before a
	// command's text.
	Shells map[string][]string
	// Parallel bounds the running jobs of each session; 0: 64.
	Parallel int
	// MaxJobs bounds the jobs that have not started; 0: 1,024.
	MaxJobs int
	// Log receives the node's log; nil drops it.
	Log *slog.Logger
	// Sole declares that this process runs only this node: the node reaps every child, and also
	// those that its jobs leave. A host with children of its own leaves it false.
	Sole bool
	// NoCgroup keeps the node from using cgroups.
	NoCgroup bool
}

// Node runs jobs: in this process, or in a daemon. Its methods are safe for concurrent use.
type Node struct {
	host  host.Host
	close func() error
}

// Open starts a node in this process. Its jobs end with the node, and with the process. ctx
// bounds only the opening.
func Open(ctx context.Context, o Options) (*Node, error) {
	n, err := node.Open(ctx, node.Options{
		Dir: o.Dir, WorkDir: o.WorkDir, Shells: o.Shells, Parallel: o.Parallel, Limits: actors.Limits{Unstarted: o.MaxJobs},
		Log: o.Log, OwnProcess: o.Sole, NoCgroup: o.NoCgroup,
	})
	if err != nil {
		return nil, err
	}
	return &Node{host: n.Host(), close: func() error { return n.Shutdown(context.Background(), messages.ShutdownNode{}) }}, nil
}

// Connect returns the node of a running daemon. socket "" is that of this user: $TROUPE_SOCKET,
// or the usual place. The jobs continue when the program ends.
func Connect(ctx context.Context, socket string) (*Node, error) {
	if socket == "" {
		socket = cmp.Or(os.Getenv("TROUPE_SOCKET"), peer.UsualSocket(os.Getenv))
	}
	c, err := client.Dial(ctx, socket)
	if err != nil {
		return nil, err
	}
	return &Node{host: c.Host(), close: c.Close}, nil
}

// Close stops the jobs of a node in this process, each with its grace, and ends the node.
// Processes that could not be stopped are a *SurvivorsError. A daemon and its jobs continue.
func (n *Node) Close() error { return n.close() }

// Host returns the interface to the node that has every request of package messages.
func (n *Node) Host() host.Host { return n.host }

// Sh returns the command of a shell text.
func Sh(text string) Command { return Command{Program: messages.Program{Text: text}} }

// Exec returns the command of a program and its arguments, without a shell.
func Exec(argv ...string) Command { return Command{Program: messages.Program{Argv: argv}} }

// Job finds a job by its id, its ULID or its name.
func (n *Node) Job(ctx context.Context, id messages.JobID) (*Job, error) {
	found, err := host.Ask(ctx, n.host, messages.FindJob{Job: id})
	if err != nil {
		return nil, err
	}
	return n.job(found.Job), nil
}

// Jobs yields the records of the jobs at and below a scope, oldest first, finished ones
// included. Scope "" means all.
func (n *Node) Jobs(ctx context.Context, scope messages.ScopePath) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		list, err := host.Ask(ctx, n.host, messages.ListJobs{Scope: scope, Finished: true})
		for _, job := range list.Jobs {
			if !yield(job, nil) {
				return
			}
		}
		if err != nil {
			yield(Record{}, err)
		}
	}
}

// Events yields the facts that which selects, each once and in order, until ctx ends. The zero
// value selects all that are recorded, and those to come.
func (n *Node) Events(ctx context.Context, which Events) iter.Seq2[Event, error] {
	return n.host.Events(ctx, which)
}
