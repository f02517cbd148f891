package main

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/spf13/cobra"

	"troupe/client"
	"troupe/internal/cli"
	"troupe/internal/cli/config"
	"troupe/internal/cli/out"
	"troupe/internal/gateway/http/wire"
	"troupe/messages"
)

// daemonCommand is a verb that asks the daemon. It never starts one.
type daemonCommand struct {
	main *cli.Main
	cmd  *cobra.Command
	ctx  context.Context //nolint:containedctx // of the one run of a verb
	*client.Client
	args []string
	json bool
}

// newDaemonCommand makes a command that asks the daemon. check says what was typed wrong,
// which needs no daemon; nil: nothing can be, but the number of arguments.
func newDaemonCommand(m *cli.Main, cmd *cobra.Command, check, do func(*daemonCommand) error) *cobra.Command {
	var asJSON bool
	cmd.Flags().SortFlags = false
	if cmd.Flags().Lookup("json") == nil {
		cmd.Flags().BoolVar(&asJSON, "json", false, "print one object, and nothing else")
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		m.Client = true
		a := &daemonCommand{main: m, cmd: cmd, ctx: cmd.Context(), args: args, json: asJSON}
		if check == nil {
			check = func(*daemonCommand) error { return nil }
		}
		if file := pidFileOf(cmd); file != "" {
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
		return connected(do(a))
	}
	return cmd
}

// dial connects to the daemon of this user.
func dial(ctx context.Context, m *cli.Main) (*client.Client, error) {
	s, err := config.Read(m)
	if err != nil {
		return nil, err
	}
	c, err := connect(ctx, s.Socket)
	if errors.Is(err, client.ErrNoDaemon) {
		return nil, noDaemonHint(m, noDaemon(s.Socket), s)
	}
	return c, err
}

func noDaemon(socket string) *messages.Error {
	return &messages.Error{
		Code: messages.NotFound, Reason: "daemon", Message: "no daemon",
		Hint: "nobody listens at " + socket + "; troupe serve starts one, troupe run -b does, too",
	}
}

// object prints a reply as one object.
func (a *daemonCommand) object(v any) error { return out.WriteJSON(a.main.Out, v) }

// failures are what went wrong with some of the jobs that a verb was given. The first is its
// error, as of any verb.
type failures struct {
	Error  *messages.Error  `json:"error,omitempty"`
	Errors []messages.Error `json:"errors,omitempty"`
}

func (f *failures) add(err error) {
	e := out.Coded(err)
	f.Errors = append(f.Errors, *e)
	f.Error = cmp.Or(f.Error, e)
}

// together ends a verb for several jobs: with its object, which what went wrong with some
// does not hide, or with a line for each of those, in their order.
func (a *daemonCommand) together(object any, f failures) error {
	switch {
	case a.json && f.Error != nil && len(a.args) < 2:
		return f.Error
	case a.json:
		if err := a.object(object); err != nil {
			return err
		}
	}
	for i := range f.Errors {
		a.printError(&f.Errors[i])
	}
	if f.Error == nil {
		return nil
	}
	return cli.ExitStatus(out.StatusOf(a.main, f.Error))
}

// inParallel asks the daemon one question for each of some things, several at a time,
// and has the replies in their order.
func inParallel[T, R any](things []T, ask func(T) (R, error)) ([]R, []error) {
	replies, errs := make([]R, len(things)), make([]error, len(things))
	turn := make(chan struct{}, atATime)
	var all sync.WaitGroup
	for i, thing := range things {
		all.Go(func() {
			turn <- struct{}{}
			reply, err := ask(thing)
			replies[i], errs[i] = reply, connected(err)
			<-turn
		})
	}
	all.Wait()
	return replies, errs
}

// atATime is how many questions of one verb are asked at a time.
const atATime = 16

// printError tells of an error that is not the one that the verb ends with.
func (a *daemonCommand) printError(err error) {
	if !a.json {
		_, _ = a.main.Err.WriteString("troupe: " + out.Clean(out.Sentence(out.Coded(err))) + "\n")
	}
}

// checkScope says what is wrong with the path of a flag or an argument; "" is none.
func checkScope(a *daemonCommand, name, path string) error {
	if path == "" && name != "" && !a.cmd.Flags().Changed(name) {
		return nil
	}
	if err := messages.ScopePath(path).Check(); err != nil {
		return err
	}
	return nil
}

// scoped checks the flag --scope.
func scoped(path *string) func(*daemonCommand) error {
	return func(a *daemonCommand) error { return checkScope(a, "scope", *path) }
}

// untilReaderGone runs a verb that may have nothing to write for long: it ends with its reader.
func (a *daemonCommand) untilReaderGone(do func() error) error {
	ctx, done := out.WithStdoutReader(a.ctx, a.main)
	defer done()
	a.ctx = ctx
	err := do()
	if err != nil && errors.Is(context.Cause(ctx), out.ErrUnread) {
		return out.ErrUnread
	}
	return err
}

// exitAs ends a verb as a job has ended. Of one that did not end by itself the status
// is ours, and says little.
func exitAs(a *daemonCommand, job messages.Job) error {
	if job.Outcome == messages.FailedToStart || job.Outcome == messages.Lost {
		a.printError(&job.Err)
	}
	return cli.ExitStatus(job.ExitCode())
}

// acknowledge ends a verb that has nothing to tell.
func acknowledge(a *daemonCommand, err error) error {
	if err == nil && a.json {
		return a.object(wire.Acknowledged{V: wire.Version})
	}
	return err
}

// uid is the name of a job that never means another.
func uid(job messages.Job) messages.JobID { return messages.JobID(job.UID) }
