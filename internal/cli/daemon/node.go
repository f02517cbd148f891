package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"

	"troupe/actors"
	"troupe/backends/keeper"
	"troupe/internal/cli/config"
	"troupe/internal/cli/connect"
	"troupe/internal/cli/inject"
	"troupe/internal/cli/out"
	"troupe/internal/gateway/webhook"
	"troupe/internal/journal"
	"troupe/internal/node"
	"troupe/messages"
	"troupe/spill"
)

// maxUnstarted is the default of limits.unstarted: a script that starts thousands of jobs
// meets no limit. A waiting job takes about 10 KiB.
const maxUnstarted = 4096

// openNode opens the daemon's node with its keeper, which holds the jobs, and its
// journal. Both restore the state from before. On platforms without keepers the jobs
// end with the daemon.
func openNode(ctx context.Context, d *daemon) (*node.Node, error) {
	s := d.settings
	o := node.Options{
		WorkDir: "/", Shells: s.Shells, Prefix: s.Prefix, Snapshot: s.Snapshot, KeepErrexit: s.KeepErrexit(), Parallel: int(s.Limits.Parallel), Queues: s.QueuePlaces(), Socket: s.Socket, State: s.State, Log: Slogger(d.log),
		Limits: actors.Limits{
			Starts: int(s.Limits.Starts), Unstarted: cmp.Or(int(s.Limits.Unstarted), maxUnstarted), Finished: int(s.Limits.Finished),
			Channels: int(s.Limits.Channels), Watches: int(s.Limits.Watches), Shells: int(s.Limits.Shells), ShellIdle: s.Limits.ShellIdle.Duration,
		},
	}
	o.Middleware = append(o.Middleware, node.CountFailures(d.numbers.failure))
	var err error
	if o.Webhooks, err = d.webhooks(); err != nil {
		return nil, err
	}
	if runtime.GOOS != "linux" { // no keepers on this platform
		return d.openAlone(ctx, o)
	}
	o.Limits.Finished = cmp.Or(o.Limits.Finished, connect.JournalJobs)
	gone := &forgotten{}
	if d.journal, err = openJournal(s.State, o.Limits.Finished, gone.add); err != nil { // before the keeper: the process that has locked the journal also has the keeper
		return nil, err
	}
	if err := d.numbers.since(d.journal); err != nil {
		return nil, fmt.Errorf("the journal cannot be read: %w", err)
	}
	fleet, err := d.openKeepers(ctx)
	if err != nil {
		return nil, fmt.Errorf("the keeper cannot be reached: %w", err)
	}
	gone.removedBy(fleet.Remove)
	d.keeper = fleet
	d.examineKeeper(fleet.PID())
	if build, own := fleet.Build(), d.main.Describe().Version; build != own {
		d.log.Warn().Str("keeper", build).Str("version", own).Msg("the keeper is of another build and keeps its jobs; a daemon that starts while it has none replaces it")
	}
	d.numbers.watch(fleet)
	o.Dir, o.Engine, o.Journal, o.Logs = s.State, fleet, d.journal, connect.OutputLogs{Keeper: fleet, Journal: d.journal}
	o.Limits.Age, o.Limits.LogBytes = connect.JournalAge, cmp.Or(int64(s.Storage.Stored), connect.JournalLogs)
	if d.faults != nil {
		o.Flags = []messages.Flag{messages.FlagFaults}
		o.Engine, o.Journal, o.Webhooks = d.faults.Engine(any(fleet).(inject.Keepers)), d.faults.Journal(d.journal), d.faults.Webhooks(o.Webhooks) // of this platform
	}
	node, err := node.Open(ctx, o)
	if err != nil {
		fleet.Close(true)
	}
	return node, err
}

// openJournal opens the journal of a state directory. Its limits exceed those of the
// node, which removes jobs with their outputs. After a long pause, or if it is too
// large, the journal itself drops jobs. Their outputs are then removed, too.
func openJournal(state string, jobs int, forgot func([]messages.UID)) (*journal.Bolt, error) {
	return journal.OpenBolt(filepath.Join(state, config.JournalName), journal.BoltOptions{
		Retention: journal.Retention{Jobs: 2 * jobs, Age: connect.JournalAge + connect.JournalSpare}, Forgot: forgot,
	})
}

// forgotten removes the outputs of jobs that the journal dropped. It queues them until
// removedBy, since the journal opens before the keeper. It is safe for concurrent use.
type forgotten struct {
	mu     sync.Mutex
	remove func(messages.UID)
	early  []messages.UID
}

func (f *forgotten) add(jobs []messages.UID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.remove == nil {
		f.early = append(f.early, jobs...)
		return
	}
	for _, job := range jobs {
		f.remove(job)
	}
}

func (f *forgotten) removedBy(remove func(messages.UID)) {
	f.mu.Lock()
	early := f.early
	f.remove, f.early = remove, nil
	f.mu.Unlock()
	f.add(early)
}

// webhooks returns the sender of notices to URLs. It signs them with the secret of the
// settings, or the daemon's own.
func (d *daemon) webhooks() (*webhook.Sender, error) {
	read, path := webhook.OwnSecret, filepath.Join(d.settings.State, config.SecretName)
	if own := d.settings.Notify.SecretFile; own != "" {
		read, path = webhook.Secret, own
	}
	secret, err := read(path)
	if err != nil {
		return nil, err
	}
	return webhook.New(webhook.Options{Secret: secret, Agent: "troupe/" + d.main.Describe().Version}), nil
}

// openKeepers finds or starts the keeper of the state directory, and finds those of
// detached jobs.
func (d *daemon) openKeepers(ctx context.Context) (*keeper.Fleet, error) {
	o, err := connect.FleetOptions(d.main, d.settings)
	if err != nil {
		return nil, err
	}
	o.Fault = d.keeperFault
	if raised := d.given.String(); raised != "" {
		o.Program = append(o.Program, "--limits", raised)
	}
	o.Main = keeper.ClientOptions{
		Dir: filepath.Join(d.settings.State, config.KeeperName), Build: o.Build, Program: o.Program, Storage: storageLimits(d.settings.Storage), Fault: o.Fault,
	}
	keeper.Sweep(o.Root, connect.JournalAge)
	return keeper.OpenFleet(ctx, o)
}

// keeperHealth returns why the keeper does not answer, or nil.
func (d *daemon) keeperHealth() *messages.Error {
	if d.keeper == nil {
		return nil
	}
	return d.keeper.Health()
}

// keeperBuild returns the version of the keeper, which keeps running when a daemon of
// another build takes over.
func (d *daemon) keeperBuild() string {
	if d.keeper == nil {
		return ""
	}
	return d.keeper.Build()
}

// journalHealth returns why facts cannot be recorded, or nil.
func (d *daemon) journalHealth() error {
	if d.journal == nil {
		return nil
	}
	return d.journal.Health()
}

// storageLimits returns the limits for the process that writes the logs, a keeper or
// this one.
func storageLimits(s config.StorageSettings) spill.Limits {
	return spill.Limits{Memory: int64(s.Memory), Finished: int(s.Finished), Sealed: int64(s.Sealed), Stored: int64(s.Stored)}
}

// openAlone opens a node without a keeper: its jobs end with the daemon.
func (d *daemon) openAlone(ctx context.Context, o node.Options) (*node.Node, error) {
	s := d.settings
	o.Dir = filepath.Join(s.State, config.LogsName)
	if err := config.OwnDirectory(o.Dir); err != nil {
		return nil, err
	}
	o.OwnProcess = true
	o.Storage = storageLimits(s.Storage)
	d.log.Warn().Msg("there are no keepers on this system: the jobs end with the daemon")
	return node.Open(ctx, o)
}

// keepJobs is the node's refusal to keep jobs that end with its process.
var keepJobs = &messages.Error{Code: messages.Unsupported, Reason: "keep_jobs"}

// shutdown shuts down the node and then the daemon for a client. If jobs cannot be kept
// as requested it returns an error, and nothing ends.
func (d *daemon) shutdown(_ context.Context, r messages.ShutdownNode) ([]messages.Survivor, error) {
	d.closing.Lock()
	defer d.closing.Unlock()
	ctx := d.urgent // not the client's context: its connection may break
	err := d.node.Shutdown(ctx, r)
	if r.KeepJobs && errors.Is(err, keepJobs) {
		live, lerr := d.live(ctx)
		switch {
		case lerr != nil:
			return nil, lerr
		case live > 0:
			return nil, &messages.Error{
				Code: messages.Unsupported, Reason: "keep_jobs", Message: fmt.Sprintf("%s would end with this daemon, which has no keeper", out.Plural(live, "job")),
				Hint: "wait for them, or stop them with troupe shutdown --stop-jobs",
			}
		}
		r.KeepJobs = false
		err = d.node.Shutdown(ctx, r)
	}
	return d.finish(err)
}

// live counts the live jobs. Unlike node.Jobs it asks no keeper for sizes: a stopped
// keeper (SIGSTOP) would block the end of the daemon.
func (d *daemon) live(ctx context.Context) (int, error) {
	reply, err := d.node.Ask(ctx, messages.ListJobs{})
	if err != nil {
		return 0, err
	}
	list, _ := reply.(messages.JobList)
	return len(list.Jobs), messages.Refusal(reply)
}

// end shuts the node down for the daemon's own end. It keeps the jobs if a keeper holds
// them, and logs if they end.
func (d *daemon) end() error {
	d.closing.Lock()
	defer d.closing.Unlock()
	ctx := d.urgent
	d.service.stopping()
	r := messages.ShutdownNode{KeepJobs: true, Reason: "the daemon is shutting down"}
	live, _ := d.live(ctx)
	err := d.node.Shutdown(ctx, r)
	if errors.Is(err, keepJobs) {
		if live > 0 {
			d.log.Warn().Int("jobs", live).Msg("the jobs end with the daemon, which has no keeper")
		}
		r.KeepJobs = false
		err = d.node.Shutdown(ctx, r)
	} else if live > 0 {
		d.log.Info().Int("jobs", live).Msg("the jobs keep running in the keeper")
	}
	_, err = d.finish(err)
	return err
}

// finish handles the result of a shutdown. After a refusal everything keeps running.
func (d *daemon) finish(err error) ([]messages.Survivor, error) {
	var left *node.SurvivorsError
	var refused *messages.Error
	switch {
	case errors.As(err, &refused):
		return nil, err
	case errors.As(err, &left):
		d.log.Error().Interface("survivors", left.Survivors).Msg("processes could not be stopped")
	case err != nil && !errors.Is(err, context.Canceled):
		d.log.Error().Err(err).Msg("the node did not shut down cleanly")
	}
	d.service.stopping()
	d.once.Do(func() { close(d.ended) })
	if left != nil {
		return left.Survivors, nil
	}
	return nil, nil
}
