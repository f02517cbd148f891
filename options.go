package troupe

import (
	"errors"
	"log/slog"
	"os"
	"runtime"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/oklog/ulid/v2"
	"github.com/rs/zerolog"

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

// Options say how a node is made. The zero value is a library node: outputs in
// the user's temporary directory, commands by bash, no log. What jobs have of the
// process, its environment and directory, they have as it was when the node was opened.
type Options struct {
	// Dir is where outputs live that outgrow memory, an absolute path; "":
	// <tmp>/troupe-<uid>. It must be this user's alone (0700), or not be there yet: Open
	// refuses any other.
	Dir string
	// WorkDir is where jobs run that name no directory, an absolute path; "": the
	// process's own. That it is there is seen when a job runs in it.
	WorkDir string
	// JobPrefix begins the short ids of jobs, and ends with no digit; "": "j".
	JobPrefix string
	// Shells are the shells that commands may name, beside the known ones: the program
	// and the words that stand before a command's text, the last mostly -c.
	Shells map[string][]string
	// Prefix stands before every shell text when it is run, as "nice -n 5"; records and
	// displays have the command alone. Programs with arguments have none. "": nothing.
	Prefix string
	// Snapshot says that live shells know what their user has set up: functions, aliases,
	// some options, and PATH (docs/commands.md). A node with an Engine keeps the files in
	// Dir, which must be given then and be this node's alone: what a node before has left
	// there is removed.
	Snapshot bool
	// Parallel is how many jobs of a session run at a time, 0: 64; a scope's default
	// session is one.
	Parallel int
	// OwnProcess says that this process runs nothing but troupe: the node becomes
	// the subreaper of its jobs and reaps every child, and the process collects its
	// garbage as suits that, unless GOGC is set (docs/decisions/033), and has its threads
	// made beforehand (docs/decisions/037). A library host
	// leaves it false, since its own children would be reaped, too. So would those of
	// another node: there must be none beside it that has its engine in this process.
	OwnProcess bool
	// NoCgroup keeps the node from using cgroups even where it could.
	NoCgroup bool
	// Socket is where clients of the node find it; its jobs are told (TROUPE_SOCKET).
	Socket string
	// State is the state directory of the daemon that the node is of; its jobs are
	// told, too (TROUPE_STATE): one of them that has to start it starts the same.
	State string
	// Limits bound the node; Storage bounds what its outputs take.
	Limits  actors.Limits
	Storage spill.Limits
	// Log hears what the node has to say; the zero value says nothing.
	Log zerolog.Logger

	// Backends replace or add kinds of sessions, by name; there are pipe, pty, shell and
	// shell-pty. A node
	// with a "pipe" of its own starts no engine. Logs must then be given, too, and only
	// then; those of another process are asked less as an actors.ManyLogs.
	Backends map[string]backends.Backend
	Logs     actors.Logs
	// Engine owns the processes, instead of one in this process: then Logs must be
	// given, too, and all of Backends stand on it. Its jobs of before are adopted.
	// The node closes it.
	Engine backends.Engine
	// Journal keeps the facts; nil: in memory. One with the projections of package
	// journal tells the node what was before it, and is not closed by it.
	Journal actors.Journal
	// Webhooks deliver notices to URLs, as those of internal/gateway/webhook do; nil: runs that
	// name a URL in OnFinish are refused.
	Webhooks actors.Webhooks
	// Middleware runs around every actor, behind the guard: traces, faults.
	Middleware []actor.ReceiverMiddleware
	// Unhandled hears of messages that no actor should have got; for tests.
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

// startsPerCPU is how many starts are under way for each CPU: one that forks
// and one that is ready when it has.
const startsPerCPU = 2

// components are what a node is made of below the tree.
type components struct {
	node     string
	log      zerolog.Logger
	backends map[string]backends.Backend
	logs     actors.Logs
	engine   backends.Engine
	past     actors.RestoreState
	store    *spill.Disk
	workers  *actors.Workers
	screens  *screen.Renderer
	told     *shellSnapshots // of users' shells; nil: none are made
}

// build makes the store, the engine and the backends.
func (o Options) build() (components, error) {
	p := components{node: string(newUID()), log: o.Log, backends: map[string]backends.Backend{}, logs: o.Logs, workers: new(actors.Workers), screens: new(screen.Renderer)}
	for name, b := range o.Backends {
		p.backends[name] = b
	}
	p.engine = o.Engine
	if _, own := p.backends[actors.DefaultBackend]; !own && p.engine != nil {
		if o.Dir != "" {
			if err := snapshot.Sweep(o.Dir); err != nil {
				o.Log.Warn().Err(err).Msg("snapshots of users' shells are left from before")
			}
		}
		p.told = o.snapshots(p)
		o.standOn(p)
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
			Code: messages.Refused, Reason: "directory", Message: "outputs cannot be kept: " + err.Error(),
			Hint: "give Options.Dir a directory of yours with mode 0700, or the name of one that can be made",
		}, p.store.Close())
	}
	p.logs = p.store
	local, err = engine.New(engine.Options{
		Node: p.node, Store: p.store, Own: o.OwnProcess, NoCgroup: o.NoCgroup,
		ScriptDir: p.store.Dir, Workers: p.workers,
		Claim: func() { _, _ = p.store.Dir() }, // without a place for it the jobs run all the same
		Fault: func(job messages.UID, fault error) {
			o.Log.Error().Str("job", string(job)).Err(fault).Msg("a fault of the engine, which it survives")
		},
	})
	if err != nil {
		return p, errors.Join(err, p.store.Close())
	}
	if swept, err := p.store.Sweep(); err != nil || len(swept) > 0 { // what cannot be removed hinders nobody
		o.Log.Info().Strs("nodes", swept).Err(err).Msg("removed the outputs of dead nodes")
	}
	p.engine = local
	p.told = o.snapshots(p)
	o.standOn(p)
	return p, nil
}

// standOn makes the kinds of sessions that are not there yet, on the engine.
func (o Options) standOn(p components) {
	of, ofShells := pipe.Options{Shells: o.Shells, Prefix: o.Prefix, Parallel: o.Parallel}, live.Options{Prefix: o.Prefix}
	if p.told != nil {
		ofShells.Snapshots = p.told
	}
	onTerminals := ofShells
	onTerminals.Terminal = messages.Terminal{Rows: messages.DefaultRows, Cols: messages.DefaultCols}
	for _, b := range []backends.Backend{pipe.New(p.engine, of), pty.New(p.engine, of), live.New(p.engine, ofShells), live.New(p.engine, onTerminals)} {
		if _, own := p.backends[b.Name()]; !own {
			p.backends[b.Name()] = b
		}
	}
}

// canKeep reports whether jobs may be left to the engine. Who gave the backends
// knows that of theirs.
func (p components) canKeep() bool { return p.engine == nil || p.engine.CanKeep() }

// stop ends the engine and whatever is left of its jobs.
func (p components) stop(keep bool) []messages.Survivor {
	if p.engine == nil {
		return nil
	}
	if err := p.told.close(); err != nil {
		p.log.Warn().Err(err).Msg("snapshots of users' shells are left")
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

// deps joins what the tree needs.
func (o Options) deps(p components, n *Node) *actors.Deps {
	return &actors.Deps{
		Ports: ports.Prober{}, Screens: p.screens,
		Backends: p.backends, Engine: p.engine, Past: p.past, Workers: p.workers, Journal: o.Journal, Logs: p.logs, Log: logger(o.Log), NewUID: newUID,
		Environment: environment(os.Environ(), o.Socket, o.State),
		JobPrefix:   o.JobPrefix, Dir: o.WorkDir, Webhooks: o.Webhooks, Limits: o.Limits, Middleware: o.Middleware,
		Failed: n.fail, Stopped: func() { close(n.gone) }, Unhandled: o.Unhandled,
	}
}

// environment makes the environments of jobs. The usual one, of a request that says
// nothing about it, is made once.
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
		if (r.EnvPolicy == "" || r.EnvPolicy == messages.EnvAllow) && len(r.Env) == 0 {
			env := append(make([]string, 0, len(usual)+2+shelltext.SelfVars), usual...)
			return withSelf(env, self), usualDropped, nil
		}
		env, dropped, err := shelltext.Environment(r, host)
		return withSelf(env, self), dropped, err
	}
}

func newUID() messages.UID { return messages.UID(ulid.Make().String()) }

func logger(l zerolog.Logger) *slog.Logger { return slog.New(zerolog.NewSlogHandler(l)) }

// deadLetterRest is how long a goroutine of the library may live behind a node that
// had a dead letter: it counts what is not logged, and nothing is.
const deadLetterRest = 50 * time.Millisecond

func newSystem(o Options) *actor.ActorSystem {
	return actor.NewActorSystem(
		actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return logger(o.Log) }),
		actor.WithDeadLetterThrottleCount(0),
		actor.WithDeadLetterThrottleInterval(deadLetterRest),
	)
}
