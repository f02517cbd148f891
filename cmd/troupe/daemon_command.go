package main

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"troupe/client"
	"troupe/messages"
)

// statusMissing is the exit status of a verb whose job is not there, whose
// daemon is not, or that was refused.
const statusMissing = 1

// daemonCommand is a verb that asks the daemon. It never starts one.
type daemonCommand struct {
	main *Main
	cmd  *cobra.Command
	ctx  context.Context //nolint:containedctx // of the one run of a verb
	*client.Client
	args []string
	json bool
}

// newDaemonCommand makes a command that asks the daemon. check says what was typed wrong,
// which needs no daemon; nil: nothing can be, but the number of arguments.
func newDaemonCommand(m *Main, cmd *cobra.Command, check, do func(*daemonCommand) error) *cobra.Command {
	var asJSON bool
	cmd.Flags().SortFlags = false
	if cmd.Flags().Lookup("json") == nil {
		cmd.Flags().BoolVar(&asJSON, "json", false, "print one object, and nothing else")
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		m.client = true
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
func dial(ctx context.Context, m *Main) (*client.Client, error) {
	s, err := readSettings(m)
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
func (a *daemonCommand) object(v any) error { return writeJSON(a.main.Out, v) }

// failures are what went wrong with some of the jobs that a verb was given. The first is its
// error, as of any verb.
type failures struct {
	Error  *messages.Error  `json:"error,omitempty"`
	Errors []messages.Error `json:"errors,omitempty"`
}

func (f *failures) add(err error) {
	e := coded(err)
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
	return exitStatus(statusOf(a.main, f.Error))
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
		_, _ = a.main.Err.WriteString("troupe: " + clean(sentence(coded(err))) + "\n")
	}
}

// someJobs refuses a verb without a job.
func someJobs(cmd *cobra.Command, args []string) error { return atLeast(cmd, args, 1, "JOB") }

// oneJob refuses a verb with less or more.
func oneJob(cmd *cobra.Command, args []string) error { return exactly(cmd, args, "JOB") }

// exactly refuses anything but one argument for each name.
func exactly(cmd *cobra.Command, args []string, names ...string) error {
	if len(args) > len(names) {
		err := messages.Invalid("arguments", cmd.CommandPath()+" takes "+strings.Join(names, " ")+", and got "+quoted(args[len(names)])+", too")
		err.Hint = "see " + cmd.CommandPath() + " --help"
		return err
	}
	return atLeast(cmd, args, len(names), names...)
}

func atLeast(cmd *cobra.Command, args []string, n int, names ...string) error {
	for i, arg := range args {
		if arg == "" {
			return messages.Invalid("arguments", "argument "+strconv.Itoa(i+1)+" of "+cmd.CommandPath()+" is empty")
		}
	}
	if len(args) >= n {
		return nil
	}
	err := messages.Invalid("arguments", cmd.CommandPath()+" needs "+strings.Join(names[len(args):], " and "))
	lists := map[string]string{"JOB": "troupe ps -a lists the jobs; ", "SESSION": "troupe sessions lists them; "}
	err.Hint = lists[names[len(args)]] + "see " + cmd.CommandPath() + " --help"
	return err
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

// completing is how long a shell waits for the ids of jobs: nobody notices it.
const completing = 150 * time.Millisecond

// jobIDs completes the jobs that live, and finished ones where a verb is for those: by
// their ids or, once something is typed, by whatever of theirs begins so.
func jobIDs(m *Main, finished bool, most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if most > 0 && len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return completed(m, func(ctx context.Context, c *client.Client) (words []string) {
			list, _ := c.Jobs(ctx, messages.ListJobs{})
			if finished { // of which there may be more than are told in that time
				if all, err := c.Jobs(ctx, messages.ListJobs{Finished: true}); err == nil {
					list = all
				}
			}
			named := map[string]bool{}
			for _, job := range slices.Backward(list.Jobs) { // of one name the youngest is meant
				words = append(words, jobWords(job, typed, named)...)
			}
			slices.Reverse(words)
			return words
		})
	}
}

// jobWords are the words for a job that begin as what is typed: its id, its name unless a
// younger one has it, and its ULID where that is typed.
func jobWords(job messages.Job, typed string, named map[string]bool) (words []string) {
	about := clean(shorten(job.Command, completionWidth))
	name, uid := job.Name, string(job.UID)
	if typed == "" || named[name] {
		name = ""
	}
	named[job.Name] = true
	if len(typed) < uidTyped {
		uid = ""
	}
	for _, word := range []string{uid, name, string(job.ID)} {
		if word != "" && strings.HasPrefix(word, typed) {
			words = append(words, cobra.CompletionWithDesc(word, about))
		}
	}
	return words
}

// uidTyped is how much is typed of a ULID by who means one: less is that of any job.
const uidTyped = 3

// completionWidth is how much of a command is shown beside its id.
const completionWidth = 40
