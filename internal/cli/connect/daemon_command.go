package connect

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/spf13/cobra"

	"troupe/client"
	"troupe/host"
	"troupe/internal/cli"
	"troupe/internal/cli/config"
	"troupe/internal/cli/out"
	"troupe/internal/cli/terminal"
	"troupe/messages"
)

// Command is a verb that sends requests to the daemon. It starts one only if the last one has
// ended because it held nothing.
type Command struct {
	Main *cli.Main
	Cmd  *cobra.Command
	Ctx  context.Context //nolint:containedctx // lasts for one run of the verb
	*client.Client
	Args []string
	JSON bool
}

// NewCommand makes a verb of a cobra command. check validates what was typed and needs
// no daemon; nil: nothing but the number of arguments.
func NewCommand(m *cli.Main, cmd *cobra.Command, check, do func(*Command) error) *cobra.Command {
	var asJSON bool
	cmd.Flags().SortFlags = false
	if cmd.Flags().Lookup("json") == nil {
		cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object, and nothing else")
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		m.Client = true
		args, err := JobArgs(cmd, args)
		if err != nil {
			return err
		}
		a := &Command{Main: m, Cmd: cmd, Ctx: cmd.Context(), Args: args, JSON: asJSON}
		if check == nil {
			check = func(*Command) error { return nil }
		}
		if file := PIDFileOf(cmd); file != "" {
			return askDetached(m, a, file, check, do)
		}
		if err := check(a); err != nil {
			return err
		}
		c, err := dial(cmd.Context(), m)
		if err != nil {
			return err
		}
		defer c.Close()
		a.Client = c
		return Connected(do(a))
	}
	return cmd
}

// dial connects to the daemon of this user, or to the one after an idle one.
func dial(ctx context.Context, m *cli.Main) (*client.Client, error) {
	s, err := config.Read(m)
	if err != nil {
		return nil, err
	}
	c, err := DialDaemon(ctx, s)
	switch none := errors.Is(err, client.ErrNoDaemon); {
	case none && leftIdle(s.State) && !s.NoDaemon:
		return startDaemon(m, s, Preferred, terminal.NewPrinter(m))
	case none:
		return nil, noDaemonHint(noDaemon(s.Socket), s)
	}
	return c, err
}

// ErrNoDaemon matches the error of a verb that finds no daemon.
var ErrNoDaemon = &messages.Error{Code: messages.NotFound, Reason: "daemon"}

func noDaemon(socket string) *messages.Error {
	return &messages.Error{
		Code: ErrNoDaemon.Code, Reason: ErrNoDaemon.Reason, Message: "no daemon at " + socket,
		Hint: "start one with troupe serve or troupe run -b",
	}
}

// Object prints a reply as one JSON object.
func (a *Command) Object(v any) error { return out.WriteJSON(a.Main.Out, v) }

// Failures holds the errors for some of the jobs that a verb was given. The first is
// also its Error, as for any verb.
type Failures struct {
	Error  *messages.Error  `json:"error,omitempty"`
	Errors []messages.Error `json:"errors,omitempty"`
}

// Add appends an error.
func (f *Failures) Add(err error) {
	e := out.Coded(err)
	f.Errors = append(f.Errors, *e)
	f.Error = cmp.Or(f.Error, e)
}

// Together ends a verb for several jobs. It prints the object even if some jobs failed,
// or one error line for each failure, in their order.
func (a *Command) Together(object any, f Failures) error {
	switch {
	case a.JSON && f.Error != nil && len(a.Args) < 2:
		return f.Error
	case a.JSON:
		if err := a.Object(object); err != nil {
			return err
		}
	}
	for i := range f.Errors {
		a.PrintError(&f.Errors[i])
	}
	if f.Error == nil {
		return nil
	}
	return cli.ExitStatus(out.StatusOf(a.Main, f.Error))
}

// Stopped ends a verb that has stopped jobs. It prints the object, each error and each survivor. The
// exit status is that of survivors, the worst result.
func (a *Command) Stopped(object any, f Failures, left []messages.Survivor) error {
	if a.JSON {
		if err := a.Object(object); err != nil {
			return err
		}
	}
	for i := range f.Errors {
		a.PrintError(&f.Errors[i])
	}
	for _, s := range left {
		a.PrintError(out.SurvivorError(s))
	}
	switch {
	case len(left) > 0:
		return cli.ExitStatus(cli.StatusSurvivors)
	case f.Error != nil:
		return cli.ExitStatus(out.StatusOf(a.Main, f.Error))
	}
	return nil
}

// InParallel calls ask for each thing, atATime at once, and returns the replies in the
// order of things.
func InParallel[T, R any](things []T, ask func(T) (R, error)) ([]R, []error) {
	replies, errs := make([]R, len(things)), make([]error, len(things))
	turn := make(chan struct{}, atATime)
	var all sync.WaitGroup
	for i, thing := range things {
		all.Go(func() {
			turn <- struct{}{}
			reply, err := ask(thing)
			replies[i], errs[i] = reply, Connected(err)
			<-turn
		})
	}
	all.Wait()
	return replies, errs
}

// atATime is how many requests of one verb run at once.
const atATime = 16

// PrintError prints an error that does not end the verb.
func (a *Command) PrintError(err error) {
	if !a.JSON {
		_, _ = a.Main.Err.WriteString("troupe: " + out.Clean(out.Sentence(out.Coded(err))) + "\n")
	}
}

// CheckScope checks the path of a flag or an argument; an unset flag may be "".
func CheckScope(a *Command, name, path string) error {
	if path == "" && name != "" && !a.Cmd.Flags().Changed(name) {
		return nil
	}
	if err := messages.ScopePath(path).Check(); err != nil {
		return err
	}
	return nil
}

// Scoped returns a check of the flag --scope.
func Scoped(path *string) func(*Command) error {
	return func(a *Command) error { return CheckScope(a, "scope", *path) }
}

// UntilReaderGone runs a verb that may write nothing for long, and ends it when the
// reader of stdout has gone.
func (a *Command) UntilReaderGone(do func() error) error {
	ctx, done := out.WithStdoutReader(a.Ctx, a.Main)
	defer done()
	a.Ctx = ctx
	err := do()
	if err != nil && errors.Is(context.Cause(ctx), out.ErrSIGPIPE) {
		return out.ErrSIGPIPE
	}
	return err
}

// ExitAs ends a verb with the exit status of a job. If the job failed to start or was
// lost it prints the error first: the status then says little.
func ExitAs(a *Command, job messages.Record) error {
	if job.End.Outcome == messages.FailedToStart || job.End.Outcome == messages.Lost {
		a.PrintError(&job.End.Err)
	}
	return cli.ExitStatus(job.ExitCode())
}

// Acknowledge sends a request that has no result to print.
func Acknowledge(a *Command, r messages.For[messages.Acknowledged]) error {
	_, err := host.Ask(a.Ctx, a.Host(), r)
	if err == nil && a.JSON {
		return a.Object(messages.Acknowledged{})
	}
	return err
}

// UID returns the name of a job that no other job ever gets.
func UID(job messages.Record) messages.JobID { return messages.JobID(job.UID) }
