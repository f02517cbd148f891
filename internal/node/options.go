package node

import (
	"errors"
	"log/slog"
	"maps"
	"os"
	"runtime"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/oklog/ulid/v2"

	"troupe/actors"
	"troupe/backends"
	"troupe/backends/engine"
	"troupe/backends/pipe"
	"troupe/backends/ports"
	"troupe/backends/pty"
	"troupe/backends/screen"
	live "troupe/backends/shell"
	"troupe/backends/snapshot"
	"troupe/internal/journal"
	"troupe/internal/shelltext"
	"troupe/messages"
	"troupe/spill"
)

// Options configure a node. The zero value is a node for a library host: outputs in the
// user's temporary directory, commands run by bash, no log. Jobs get the environment and the
// directory that the process had when the node was opened.
type Options struct {
	// Dir is the absolute path of the directory for outputs that outgrow memory; "":
	// <tmp>/troupe-<uid>. It must belong to this user alone (0700), or not exist yet; Open
	// refuses any other.
	Dir string
	// WorkDir is the absolute path of the directory of jobs that name none; "": the
	// process's own. Each job checks that it exists.
	WorkDir string
	// JobPrefix begins the short ids of jobs and must not end with a digit; "": "j".
	JobPrefix string
	// Queues are the places of the named queues in which jobs wait (messages.StartWaits).
	Queues map[string]int
	// Flags are those of each new job.
	Flags []messages.Flag
	// Shells adds shells that commands may name: by name, the program and the arguments
	// before a command's text, of which the last is mostly -c.
	Shells map[string][]string
	// Prefix precedes every shell text that is run, such as "nice -n 5"; records show the
	// command alone. It does not apply to a program with arguments.
	Prefix string
	// Snapshot makes live shells load what their user has set up: functions, aliases, some
	// options and PATH (docs/commands.md). A node with an Engine keeps the files in Dir,
	// which is required then. Dir must be this node's alone, because the files of a former
	// node are removed.
	Snapshot bool
	// KeepErrexit has a command that fails after set -e in a live bash or zsh end alone: the
	// shell goes on with its state. Else the shell exits, as other shells do.
	KeepErrexit bool
	// Parallel bounds the running jobs of each session, also of a scope's default session;
	// 0: 64.
	Parallel int
	// OwnProcess declares that this process runs only troupe and only this node's engine.
	// The node becomes the subreaper of its jobs and reaps every child. The process tunes
	// its garbage collector unless GOGC is set (docs/decisions/033) and starts its threads
	// in advance (docs/decisions/037). Jobs start with default signals, whatever the process
	// ignores or blocks (docs/decisions/045). A library host leaves it false, or the node
	// would reap the host's own children. Its jobs inherit its ignored and blocked signals.
	OwnProcess bool
	// Beside reports whether a child process of such a process belongs to no job; nil: each
	// does. It must not call the node.
	Beside func(pid int) bool
	// NoCgroup keeps the node from using cgroups.
	NoCgroup bool
	// Socket is the address of the node for clients; jobs get it as TROUPE_SOCKET.
	Socket string
	// State is the state directory of the node's daemon. Jobs get it as TROUPE_STATE, so
	// that a job which starts the daemon starts the same one.
	State string
	// Limits bound the node. Storage bounds its outputs.
	Limits  actors.Limits
	Storage spill.Limits
	// Log receives the node's log; nil drops it.
	Log *slog.Logger

	// Backends replace or add kinds of sessions, by name; pipe, pty, shell and shell-pty
	// exist. A node with its own "pipe" starts no engine. It then needs Logs, and only
	// then may they be set. Logs of another process should be an actors.BatchLogs, which
	// needs fewer calls.
	Backends map[string]backends.Backend
	Logs     actors.Logs
	// Engine owns the processes, instead of an engine in this process. Logs are required
	// then, and all Backends must use it. The node adopts its jobs, and closes it.
	Engine backends.Engine
	// Journal stores the facts; nil: in memory. A journal with the projections of package
	// journal also restores the node. The node does not close it.
	Journal actors.Journal
	// Webhooks deliver notices to URLs, as internal/gateway/webhook does; nil: a run with a
	// URL in OnFinish is refused.
	Webhooks actors.Webhooks
	// Middleware wraps every actor, inside the panic guard: for traces and faults.
	Middleware []actor.ReceiverMiddleware
	// Unhandled receives messages that no actor expects; for tests.
	Unhandled func(who string, message any)
}

func (o Options) withDefaults() (Options, error) {
	if err := o.check(); err != nil {
		return o, err
	}
	if o.WorkDir == "" {
		dir, err := os.Getwd()
		if err != nil {
			return o, &messages.Error{
				Code: messages.CwdNotFound, Message: "the current directory cannot be found: " + err.Error(), Hint: "change to one that exists",
			}
		}
		o.WorkDir = dir
	}
	if err := o.checkSnapshot(); err != nil {
		return o, err
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Limits.Starts == 0 {
		o.Limits.Starts = startsPerCPU * runtime.NumCPU()
	}
	if o.Journal == nil {
		o.Journal = journal.NewMemory(0)
	} else if j, ok := o.Journal.(restorableJournal); ok {
		o.Journal = durableJournal{j}
	}
	return o, nil
}

// startsPerCPU bounds concurrent starts: one that forks, and one that is ready after it.
const startsPerCPU = 2

// components are the parts of a node below the tree.
type components struct {
	node      string
	log       *slog.Logger
	backends  map[string]backends.Backend
	logs      actors.Logs
	engine    backends.Engine
	past      actors.RestoreState
	store     *spill.Disk
	workers   *actors.Workers
	screens   *screen.Renderer
	snapshots *shellSnapshots // of users' shells; nil: none are made
}

// build makes the store, the engine and the backends.
func (o Options) build() (components, error) {
	p := components{node: string(newUID()), log: o.Log, backends: map[string]backends.Backend{}, logs: o.Logs, workers: new(actors.Workers), screens: new(screen.Renderer)}
	maps.Copy(p.backends, o.Backends)
	p.engine = o.Engine
	if _, own := p.backends[actors.DefaultBackend]; !own && p.engine != nil {
		if o.Dir != "" {
			if err := snapshot.Sweep(o.Dir); err != nil {
				o.Log.Warn("could not remove the shell snapshots of a former node", "error", err)
			}
		}
		p.snapshots = o.snapshots(p)
		o.addBackends(p)
	}
	if _, own := p.backends[actors.DefaultBackend]; own {
		return p, nil
	}
	var local *engine.Local
	var err error
	if p.store, err = spill.OpenStore(spill.Options{
		Root: o.Dir, Node: p.node, Limits: o.Storage,
		Dead: func(node string) bool { return local.KillLeftovers(node) }, // from Sweep, when there is an engine
	}); err != nil {
		return p, err
	}
	if err := p.store.Check(); err != nil {
		return p, errors.Join(&messages.Error{
			Code: messages.Refused, Reason: "directory", Message: "cannot store outputs: " + err.Error(),
			Hint: "give Options.Dir a directory of yours with mode 0700, or the name of one that can be made",
		}, p.store.Close())
	}
	p.logs = p.store
	local, err = engine.New(engine.Options{
		Node: p.node, Store: p.store, Own: o.OwnProcess, Beside: o.Beside, NoCgroup: o.NoCgroup,
		ScriptDir: p.store.Dir, Workers: p.workers,
		Claim: func() { _, _ = p.store.Dir() }, // without a directory the jobs run all the same
		Fault: func(job messages.UID, fault error) {
			o.Log.Error("fault of the engine; its jobs run on", "job", string(job), "error", fault)
		},
	})
	if err != nil {
		return p, errors.Join(err, p.store.Close())
	}
	swept, err := p.store.Sweep()
	if len(swept) > 0 {
		o.Log.Info("removed the outputs of dead nodes", "nodes", swept)
	}
	if err != nil { // a leftover does no harm
		o.Log.Warn("could not remove all outputs of dead nodes", "error", err)
	}
	p.engine = local
	p.snapshots = o.snapshots(p)
	o.addBackends(p)
	return p, nil
}

// addBackends adds the standard kinds of sessions that p lacks, on the engine.
func (o Options) addBackends(p components) {
	of, ofShells := pipe.Options{Shells: o.Shells, Prefix: o.Prefix, Parallel: o.Parallel, Queue: o.Limits.Unstarted}, live.Options{Prefix: o.Prefix, KeepErrexit: o.KeepErrexit}
	if p.snapshots != nil {
		ofShells.Snapshots = p.snapshots
	}
	onTerminals := ofShells
	onTerminals.Terminal = messages.Terminal{Rows: messages.DefaultRows, Cols: messages.DefaultCols}
	for _, b := range []backends.Backend{pipe.New(p.engine, of), pty.New(p.engine, of), live.New(p.engine, ofShells), live.New(p.engine, onTerminals)} {
		if _, own := p.backends[b.Name()]; !own {
			p.backends[b.Name()] = b
		}
	}
}

// canKeep reports whether jobs may be left to the engine. Without an engine the given
// backends decide.
func (p components) canKeep() bool { return p.engine == nil || p.engine.CanKeep() }

// stop ends the engine and what remains of its jobs.
func (p components) stop(keep bool) []messages.Survivor {
	if p.engine == nil {
		return nil
	}
	if err := p.snapshots.close(); err != nil {
		p.log.Warn("could not remove the node's shell snapshots", "error", err)
	}
	return p.engine.Close(keep)
}

func (p components) close() error {
	p.screens.Close()
	if p.store == nil {
		return nil
	}
	return p.store.Close()
}

// deps returns the dependencies of the tree.
func (o Options) deps(p components, n *Node) *actors.Deps {
	return &actors.Deps{
		Ports: ports.Prober{}, Screens: p.screens,
		Backends: p.backends, Engine: p.engine, Past: p.past, Workers: p.workers, Journal: o.Journal, Logs: p.logs, Log: o.Log, NewUID: newUID,
		Environment: environment(os.Environ(), o.Socket, o.State),
		JobPrefix:   o.JobPrefix, Flags: o.Flags, Queues: o.Queues, Dir: o.WorkDir, Webhooks: o.Webhooks, Limits: o.Limits, Middleware: o.Middleware,
		Failed: n.fail, Stopped: func() { close(n.gone) }, Unhandled: o.Unhandled,
	}
}

// environment returns the function that makes the environments of jobs. It computes the
// default environment once.
func environment(host []string, socket, state string) func(messages.RunCommand, actors.JobEnv) (env, dropped []string, err *messages.Error) {
	withSelf := func(env []string, self actors.JobEnv) []string {
		if socket != "" {
			env = shelltext.Set(env, shelltext.SocketVar, socket)
		}
		if state != "" {
			env = shelltext.Set(env, shelltext.StateVar, state)
		}
		return shelltext.WithSelf(env, self.Scope, self.Session, self.Job)
	}
	usual, usualDropped, _ := shelltext.Environment(messages.RunCommand{}, host)
	return func(r messages.RunCommand, self actors.JobEnv) ([]string, []string, *messages.Error) {
		if (r.Env.Policy == "" || r.Env.Policy == messages.EnvAllow) && len(r.Env.Set) == 0 {
			env := append(make([]string, 0, len(usual)+2+shelltext.SelfVars), usual...)
			return withSelf(env, self), usualDropped, nil
		}
		env, dropped, err := shelltext.Environment(r, host)
		return withSelf(env, self), dropped, err
	}
}

func newUID() messages.UID { return messages.UID(ulid.Make().String()) }

// deadLetterRest bounds the life of a library goroutine after a node that had a dead letter.
// The goroutine counts suppressed log entries, of which there are none.
const deadLetterRest = 50 * time.Millisecond

func newSystem(o Options) *actor.ActorSystem {
	return actor.NewActorSystem(
		actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return o.Log }),
		actor.WithDeadLetterThrottleCount(0),
		actor.WithDeadLetterThrottleInterval(deadLetterRest),
	)
}
