package connect

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"troupe/backends/keeper"
	"troupe/client"
	"troupe/host"
	"troupe/internal/cli"
	"troupe/internal/cli/config"
	"troupe/internal/cli/flags"
	"troupe/internal/cli/out"
	"troupe/internal/gateway/http"
	"troupe/internal/node"
	"troupe/messages"
)

// pidFlag is the flag that names a detached job by its pid file.
const pidFlag = "pid-file"

// ByPIDFile lets a verb take a detached job by its pid file; it needs no daemon.
func ByPIDFile(cmd *cobra.Command) {
	cmd.Flags().String(pidFlag, "", "use the detached job of the pid file `FILE`; needs no daemon")
	args := cmd.Args
	cmd.Args = func(cmd *cobra.Command, given []string) error {
		if !cmd.Flags().Changed(pidFlag) {
			return args(cmd, given)
		}
		if PIDFileOf(cmd) == "" {
			return messages.Invalid(pidFlag, "--pid-file is empty; leave it out or give a file")
		}
		if len(given) > 0 {
			e := messages.Invalid("arguments", "--pid-file and the job "+out.Quoted(given[0])+" contradict each other")
			e.Hint = "give one of them"
			return e
		}
		return nil
	}
}

// PIDFileOf returns the value of --pid-file; "": not given.
func PIDFileOf(cmd *cobra.Command) string {
	flag := cmd.Flags().Lookup(pidFlag)
	if flag == nil {
		return ""
	}
	return flag.Value.String()
}

// askDetached runs a verb for the job of a pid file: through the daemon if that has the
// job, else through the job's keeper.
func askDetached(m *cli.Main, a *Command, file string, check, do func(*Command) error) error {
	cmd := a.Cmd
	first := withoutDaemon(cmd)
	p, err := keeper.ReadPIDFile(file)
	if err != nil {
		return err
	}
	if err := genuine(file, p); err != nil {
		return err
	}
	a.Args = []string{string(p.Job)}
	if err := check(a); err != nil {
		return err
	}
	ask := func(ctx context.Context, c *client.Client) error {
		return do(&Command{Main: m, Cmd: cmd, Ctx: ctx, Client: c, Args: a.Args, JSON: a.JSON})
	}
	for {
		if c := daemonWithJob(cmd.Context(), m, p); c != nil {
			defer c.Close()
			return Connected(ask(cmd.Context(), c))
		}
		if first != nil {
			if err := first(cmd.Context(), p); err != nil {
				return err
			}
			first = nil
			continue // a daemon may have started meanwhile
		}
		if err := superviseDetached(cmd.Context(), m, p, urgent(cmd), ask); !errors.Is(err, replaced) {
			return err
		}
	}
}

// daemonWithJob connects to the daemon if it runs and has the job; else it returns nil.
func daemonWithJob(ctx context.Context, m *cli.Main, p keeper.PIDFile) *client.Client {
	at, err := config.Read(m)
	if err != nil {
		return nil
	}
	c, err := DialDaemon(ctx, at)
	if err != nil {
		return nil
	}
	if _, err := host.Ask(ctx, c.Host(), messages.FindJob{Job: messages.JobID(p.Job)}); err != nil {
		_ = c.Close()
		return nil
	}
	return c
}

// replaced means that a daemon has taken over the keeper; requests go to the daemon
// from then on.
var replaced = &messages.Error{Code: messages.Busy, Reason: "replaced"}

// genuine rejects a pid file that does not match the process that its keeper started:
// another process may have the number by now.
func genuine(file string, p keeper.PIDFile) error {
	refuse := func(why string) error {
		return &messages.Error{
			Code: messages.Refused, Reason: "pid_file", Message: fmt.Sprintf("%s does not match a job of troupe: %s; nothing was done to process %d", file, why, p.PID),
			Hint: "name the .pid file beside the log of the job",
		}
	}
	seen, err := keeper.Inspect(p.Dir)
	switch {
	case errors.Is(err, &messages.Error{Code: messages.Unsupported}):
		return err
	case err != nil:
		return refuse("there is no record of it in " + p.Dir)
	case filepath.Base(p.Dir) != string(p.Job) || seen.PID == 0:
		return refuse("its keeper has not started the job")
	case seen.PID != p.PID || seen.StartTime != p.StartTime:
		return refuse(fmt.Sprintf("the job was process %d with start time %d, the file has %d and %d", seen.PID, seen.StartTime, p.PID, p.StartTime))
	case seen.BootID != p.BootID:
		return refuse("the machine was rebooted since")
	}
	return nil
}

// guestPatience bounds the wait for other clients of a job's keeper; each keeps it for
// a moment, or until the job has ended.
const guestPatience = 30 * time.Second

// superviseDetached supervises a detached job in a node of this process, and then returns it to
// its keeper. The verb uses this node like a daemon.
func superviseDetached(ctx context.Context, m *cli.Main, p keeper.PIDFile, urgent bool, ask func(context.Context, *client.Client) error) error {
	o, err := FleetOptions(m, &config.Settings{})
	if err != nil {
		return err
	}
	o.Root, o.Only, o.Guest, o.Urgent = filepath.Dir(p.Dir), p.Job, true, urgent
	ctx, lost := context.WithCancelCause(ctx)
	defer lost(nil)
	o.Fault = func(fault error) {
		if errors.Is(fault, replaced) {
			lost(fault)
		}
	}
	if err = inFleet(ctx, m, p, o, ask); err != nil && errors.Is(context.Cause(ctx), replaced) {
		return replaced
	}
	return err
}

// inFleet runs ask against a node of this process that serves the keeper of a job.
func inFleet(ctx context.Context, m *cli.Main, p keeper.PIDFile, o keeper.FleetOptions, ask func(context.Context, *client.Client) error) error {
	patient, cancel := context.WithTimeout(ctx, guestPatience)
	defer cancel()
	fleet, err := keeper.OpenFleet(patient, o)
	if err != nil {
		return err
	}
	node, err := node.Open(ctx, node.Options{WorkDir: "/", Engine: fleet, Logs: OutputLogs{Keeper: fleet}})
	if err != nil {
		fleet.Close(true)
		return err
	}
	defer func() {
		_ = node.Shutdown(context.WithoutCancel(ctx), messages.ShutdownNode{KeepJobs: true, Reason: "the request is done"})
	}()
	dir, err := os.MkdirTemp("", "troupe-ask-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	door, err := http.Listen(filepath.Join(dir, config.SocketName))
	if err != nil {
		return err
	}
	server := http.New(http.Options{Node: http.AdaptNode(node), Version: m.Describe().Version})
	served := make(chan error, 1)
	go func() { served <- server.Serve(door) }()
	defer func() {
		now, cancel := context.WithCancel(context.Background())
		cancel() // we are the only client and have our replies
		_ = server.Close(now)
		<-served
	}()
	c, err := client.Dial(ctx, filepath.Join(dir, config.SocketName))
	if err != nil {
		return err
	}
	defer c.Close()
	if err := replayed(ctx, node.Host(), p); err != nil {
		return err
	}
	return ask(ctx, c)
}

// replayed waits until the node has received the job's start or end from the keeper.
func replayed(ctx context.Context, h host.Host, p keeper.PIDFile) error {
	id := messages.JobID(p.Job)
	found, err := host.Ask(ctx, h, messages.FindJob{Job: id})
	if err != nil {
		return err
	}
	seen, err := keeper.Inspect(p.Dir)
	if err == nil && (seen.Over || !seen.Kept) {
		_, err = host.Ask(ctx, h, messages.WaitJobs{Jobs: []messages.JobID{id}, Timeout: guestPatience})
		return err
	}
	for n, err := range h.Events(ctx, messages.Subscribe{Filter: messages.Filter{Job: found.Job.ID}}) {
		if err != nil {
			return err
		}
		if of, is := n.Fact.(messages.CommandFact); is && of.Record().State != messages.Starting {
			return nil
		}
	}
	return nil
}

// urgent reports whether a verb must not wait for other clients, which may wait for a
// long grace.
func urgent(cmd *cobra.Command) bool {
	force := cmd.Flags().Lookup("force")
	return cmd.Name() == "kill" || force != nil && force.Value.String() == "true"
}

// withoutDaemon returns what a verb does before it uses the keeper; nil: nothing. It
// uses the keeper only briefly, since other clients may want to stop the job.
func withoutDaemon(cmd *cobra.Command) func(context.Context, keeper.PIDFile) error {
	switch cmd.Name() {
	case "wait":
		return func(ctx context.Context, p keeper.PIDFile) error { return waitWithoutDaemon(ctx, cmd, p) }
	case "logs":
		return func(_ context.Context, p keeper.PIDFile) error {
			if !cmd.Flags().Changed("follow") {
				return nil
			}
			seen, err := keeper.Inspect(p.Dir)
			if err == nil {
				err = out.Unsupported("follow", "cannot follow a log without a daemon", "use tail -f "+out.Quoted(seen.File)+", or start a daemon with troupe serve")
			}
			return err
		}
	}
	return nil
}

// waitWithoutDaemon waits for the end of a job without a connection to its keeper.
func waitWithoutDaemon(ctx context.Context, cmd *cobra.Command, p keeper.PIDFile) error {
	for _, condition := range []string{"match", "port", "quiet", "input"} {
		if cmd.Flags().Changed(condition) {
			return out.Unsupported("condition", "--"+condition+" needs a daemon: without one, troupe can only wait for the end of a detached job", "start a daemon with troupe serve")
		}
	}
	limit, cancel := ctx, context.CancelFunc(func() {})
	if d, ok := cmd.Flags().Lookup("timeout").Value.(*flags.Duration); ok && d.Given {
		deadline := time.Now().Add(d.D)
		limit, cancel = context.WithDeadline(ctx, deadline)
		defer func() { d.D = max(time.Until(deadline), time.Millisecond) }() // the time left for the last request
	}
	defer cancel()
	err := keeper.WaitEnd(limit, p.Dir)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return nil
	}
	return err
}
