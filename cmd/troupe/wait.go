package main

import (
	"errors"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"troupe/host"
	"troupe/internal/cli"
	"troupe/internal/cli/connect"
	"troupe/internal/cli/flags"
	"troupe/internal/cli/out"
	"troupe/internal/dialect/core"
	"troupe/messages"
)

// The exit statuses of wait other than the job's own.
const (
	statusTimeout    = 124
	statusImpossible = 3 // the condition can no longer be met
	statusFailed     = 1 // one of several jobs did not end well
)

// waitFlags holds the flags of wait.
type waitFlags struct {
	anyJob, allJobs bool
	match           string
	port            string
	quiet, timeout  flags.Duration
	input           bool
	request         messages.WaitJobs // built from the flags
}

func waitCommand(m *cli.Main) *cobra.Command {
	f := &waitFlags{quiet: flags.Duration{Name: "quiet"}, timeout: flags.Duration{Name: "timeout"}}
	cmd := &cobra.Command{
		Use: "wait [flags] JOB...", Short: "Wait until jobs end, print a line or open a port", Args: flags.SomeJobs, ValidArgsFunction: connect.JobIDs(m, true, 0),
		Long: `Wait until all of the jobs, or one of them with --any, have ended or meet the
condition of a flag. What has happened already counts.`,
		Example: `  troupe wait j7                        and exit with its status
  troupe wait --match 'listening on' --timeout 30s j7
  troupe wait --match '^ready$' j7      until it prints such a line
  troupe wait --port 8080 j7            until one of its processes listens
  troupe wait build test && deploy      only if all of them have exited with 0
  troupe wait --any j7 j8`,
		Annotations: map[string]string{flags.HelpEnd: `A job waits for input while one of its processes blocks in a read of its empty input
(troupe run -i). A process that waits for several things at once (poll, select, epoll:
Node, asyncio, read -t) is not detected.

Exit status: for one job without a condition that of the job, as with troupe run; for
several 1 if one of those that have ended did not exit with 0; else 0; 3 if a job can
no longer meet the condition; 124 after --timeout; 1 without such a job.`},
	}
	set := cmd.Flags()
	set.BoolVar(&f.anyJob, "any", false, "wait for one of the jobs")
	set.BoolVar(&f.allJobs, "all", false, "wait for all of the jobs (the default)")
	set.StringVar(&f.match, "match", "", "until the output matches the regular expression `RE`")
	set.StringVar(&f.port, "port", "", "until the job listens on port `N`, or HOST:N accepts connections")
	set.Var(&f.quiet, "quiet", "until the job has printed nothing for D")
	set.BoolVar(&f.input, "input", false, "until the job waits for input from troupe write")
	set.Var(&f.timeout, "timeout", "wait at most D (default no limit)")
	connect.ByPIDFile(cmd)
	connect.InScope(cmd, 0)
	return connect.NewCommand(m, cmd, f.check, func(a *connect.Command) error { return waitJobs(a, f) })
}

// condition returns the condition of the flags, and rejects more than one.
func (f *waitFlags) condition(given func(string) bool) (messages.Condition, error) {
	c := messages.Condition{Kind: messages.UntilExit}
	chosen := ""
	for _, flag := range []struct {
		name string
		kind messages.ConditionKind
	}{{"match", messages.UntilPattern}, {"port", messages.UntilPort}, {"quiet", messages.UntilQuiet}, {"input", messages.UntilInput}} {
		if !given(flag.name) {
			continue
		}
		if chosen != "" {
			return c, messages.Invalid("condition", "--"+chosen+" and --"+flag.name+" are both conditions; give one of them")
		}
		chosen, c.Kind = flag.name, flag.kind
	}
	c.Pattern, c.Quiet = f.match, f.quiet.D
	if c.Kind == messages.UntilPort {
		var err error
		if c.Host, c.Port, err = portOf(f.port); err != nil {
			return c, err
		}
	}
	if f.anyJob && f.allJobs {
		return c, messages.Invalid("condition", "--any and --all contradict each other; give one of them")
	}
	return c, nil
}

// portOf parses N, :N and HOST:N.
func portOf(text string) (host string, port int, err error) {
	number := text
	if strings.Contains(text, ":") {
		if host, number, err = net.SplitHostPort(text); err != nil {
			number = ""
		}
	}
	if port, err = strconv.Atoi(number); err != nil {
		return "", 0, messages.Invalid("port", "invalid port "+strconv.Quote(text)+": use a number or HOST:NUMBER")
	}
	return host, port, nil
}

// check builds the request and validates it.
func (f *waitFlags) check(a *connect.Command) error {
	condition, err := f.condition(a.Cmd.Flags().Changed)
	if err != nil {
		return err
	}
	f.request = messages.WaitJobs{Any: f.anyJob, Condition: condition, Timeout: f.timeout.D}
	for _, id := range a.Args {
		f.request.Jobs = append(f.request.Jobs, messages.JobID(id))
	}
	if err := f.request.Check(); err != nil {
		return err
	}
	if condition.Kind == messages.UntilPattern {
		f.request.Condition.Pattern = core.LineAnchors + condition.Pattern
	}
	return nil
}

func waitJobs(a *connect.Command, f *waitFlags) error {
	f.request.Timeout = f.timeout.D // the time left, after a wait without a daemon
	end, err := host.Ask(a.Ctx, a.Host(), f.request)
	if err != nil {
		return err
	}
	if a.JSON {
		end.Met, end.Jobs = out.List(end.Met), out.List(end.Jobs)
		if err := a.Object(end); err != nil {
			return err
		}
	}
	switch {
	case end.TimedOut:
		a.PrintError(errors.New("timed out (--timeout)"))
		return cli.ExitStatus(statusTimeout)
	case !end.Satisfied:
		a.PrintError(errors.New("the condition can no longer be met: " + neverText(end.Jobs)))
		return cli.ExitStatus(statusImpossible)
	case f.request.Condition.Kind != messages.UntilExit:
		return nil
	case len(end.Jobs) == 1:
		return connect.ExitAs(a, end.Jobs[0])
	}
	if failed := slices.DeleteFunc(end.Jobs, endedWell); len(failed) > 0 {
		a.PrintError(errors.New("not all jobs ended well: " + out.EndsText(failed)))
		return cli.ExitStatus(statusFailed)
	}
	return nil
}

// endedWell reports whether a job has exited with 0, or still runs.
func endedWell(j messages.Record) bool { return !j.State.Ended() || j.ExitCode() == 0 }

// neverText explains why a condition can no longer be met: the jobs have ended, or they
// have no open input to wait for.
func neverText(jobs []messages.Record) string {
	switch ends := out.EndsText(jobs); {
	case ends != "":
		return ends
	case len(jobs) == 1:
		return string(jobs[0].ID) + " has no open input; start the job with troupe run -i"
	}
	return "some jobs have no open input; start them with troupe run -i"
}
