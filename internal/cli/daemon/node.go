package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"

	"troupe"
	"troupe/actors"
	"troupe/backends/keeper"
	"troupe/internal/cli/config"
	"troupe/internal/cli/connect"
	"troupe/internal/cli/out"
	"troupe/internal/gateway/webhook"
	"troupe/internal/journal"
	"troupe/messages"
	"troupe/spill"
)

// openNode opens the node of the daemon around its keeper, which holds the jobs,
// and its journal: what was there before is there again. Where there are no keepers
// the jobs are the daemon's own, and end with it.
func openNode(ctx context.Context, d *daemon) (*troupe.Node, error) {
	s := d.settings
	o := troupe.Options{
		WorkDir: "/", Shells: s.Shells, Prefix: s.Prefix, Snapshot: s.Snapshot, Parallel: int(s.Limits.Parallel), Socket: s.Socket, State: s.State, Log: d.log,
		Limits: actors.Limits{
			Starts: int(s.Limits.Starts), Unstarted: int(s.Limits.Unstarted), Finished: int(s.Limits.Finished),
			Channels: int(s.Limits.Channels), Watches: int(s.Limits.Watches), Shells: int(s.Limits.Shells), ShellIdle: s.Limits.ShellIdle.Duration,
		},
	}
	o.Middleware = append(o.Middleware, troupe.CountFailures(d.numbers.failure))
	var err error
	if o.Webhooks, err = d.webhooks(); err != nil {
		return nil, err
	}
	if runtime.GOOS != "linux" { // there are no keepers
		return d.openAlone(ctx, o)
	}
	o.Limits.Finished = cmp.Or(o.Limits.Finished, connect.JournalJobs)
	gone := &forgotten{}
	if d.journal, err = openJournal(s.State, o.Limits.Finished, gone.add); err != nil { // before the keeper: who has it has the keeper, too
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
	if build, own := fleet.Build(), d.main.Describe().Version; build != own {
		d.log.Warn().Str("keeper", build).Str("version", own).Msg("the keeper is of another build, and goes on with its jobs: the daemon that starts when it has none replaces it")
	}
	d.numbers.watch(fleet)
	o.Dir, o.Engine, o.Journal, o.Logs = s.State, fleet, d.journal, connect.OutputLogs{Keeper: fleet, Journal: d.journal}
	o.Limits.Age, o.Limits.LogBytes = connect.JournalAge, cmp.Or(int64(s.Storage.Stored), connect.JournalLogs)
	node, err := troupe.Open(ctx, o)
	if err != nil {
		fleet.Close(true)
	}
	return node, err
}

// openJournal opens the journal of a state directory. Its bounds are wider than those
// of the node, which forgets a job with its outputs; of what the journal has to let go
// all the same, since it was left alone for long or is too large, the outputs go, too.
func openJournal(state string, jobs int, forgot func([]messages.UID)) (*journal.Bolt, error) {
	return journal.OpenBolt(filepath.Join(state, config.JournalName), journal.BoltOptions{
		Retention: journal.Retention{Jobs: 2 * jobs, Age: connect.JournalAge + connect.JournalSpare}, Forgot: forgot,
	})
}

// forgotten has the outputs of jobs removed that the journal let go, once there is
// somebody who can: the journal is opened first. It is safe for concurrent use.
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

// webhooks tell URLs of the ends of jobs, signed with the secret of the settings, or
// one of the daemon's own.
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

// openKeepers finds the keeper of the state directory, or starts one, and those of the
// detached jobs.
func (d *daemon) openKeepers(ctx context.Context) (*keeper.Fleet, error) {
	o, err := connect.FleetOptions(d.main, d.settings)
	if err != nil {
		return nil, err
	}
	o.Fault = func(fault error) { d.log.Error().Err(fault).Msg("the keeper") }
	o.Main = keeper.ClientOptions{
		Dir: filepath.Join(d.settings.State, config.KeeperName), Build: o.Build, Program: o.Program, Storage: storageLimits(d.settings.Storage), Fault: o.Fault,
	}
	keeper.Sweep(o.Root, connect.JournalAge)
	return keeper.OpenFleet(ctx, o)
}

// keeperHealth is why the keeper does not answer, or nil.
func (d *daemon) keeperHealth() *messages.Error {
	if d.keeper == nil {
		return nil
	}
	return d.keeper.Health()
}

// keeperBuild is the version of the keeper, which goes on with its jobs when the daemon
// is replaced by one of another build.
func (d *daemon) keeperBuild() string {
	if d.keeper == nil {
		return ""
	}
	return d.keeper.Build()
}

// journalHealth is why nothing can be recorded, or nil.
func (d *daemon) journalHealth() error {
	if d.journal == nil {
		return nil
	}
	return d.journal.Health()
}

// storageLimits are what the writer of the logs enforces, be it a keeper or this process.
func storageLimits(s config.StorageSettings) spill.Limits {
	return spill.Limits{Memory: int64(s.Memory), Finished: int(s.Finished), Sealed: int64(s.Sealed), Stored: int64(s.Stored)}
}

// openAlone opens a node whose jobs are the daemon's own.
func (d *daemon) openAlone(ctx context.Context, o troupe.Options) (*troupe.Node, error) {
	s := d.settings
	o.Dir = filepath.Join(s.State, config.LogsName)
	if err := config.OwnDirectory(o.Dir); err != nil {
		return nil, err
	}
	o.OwnProcess = true
	o.Storage = storageLimits(s.Storage)
	d.log.Warn().Msg("there are no keepers here: the jobs end with the daemon")
	return troupe.Open(ctx, o)
}

// keepJobs is what is answered when jobs would have to outlive a node that holds
// them itself.
var keepJobs = &messages.Error{Code: messages.Unsupported, Reason: "keep_jobs"}

// shutdown ends the node because a client asked for it, and the daemon behind it.
// Jobs that are to be kept and cannot be are a refusal: nothing ends.
func (d *daemon) shutdown(_ context.Context, r messages.ShutdownNode) ([]messages.Survivor, error) {
	d.closing.Lock()
	defer d.closing.Unlock()
	ctx := d.urgent // not the client's: he may vanish
	err := d.node.Shutdown(ctx, r)
	if r.KeepJobs && errors.Is(err, keepJobs) {
		live, lerr := d.live(ctx)
		switch {
		case lerr != nil:
			return nil, lerr
		case live > 0:
			return nil, &messages.Error{
				Code: messages.Unsupported, Reason: "keep_jobs", Message: fmt.Sprintf("%s would end with this daemon, which holds them itself", out.Plural(live, "job")),
				Hint: "wait for them, or end them with troupe shutdown --stop-jobs",
			}
		}
		r.KeepJobs = false
		err = d.node.Shutdown(ctx, r)
	}
	return d.finish(err)
}

// live counts the jobs that live. It asks no keeper for their sizes, as node.Jobs does:
// one that was stopped would hold up the end of the daemon.
func (d *daemon) live(ctx context.Context) (int, error) {
	reply, err := d.node.Ask(ctx, messages.ListJobs{})
	if err != nil {
		return 0, err
	}
	list, _ := reply.(messages.JobList)
	return len(list.Jobs), messages.Refusal(reply)
}

// end ends the node because the daemon has to end: jobs live on where they can,
// and where they cannot that is said.
func (d *daemon) end() error {
	d.closing.Lock()
	defer d.closing.Unlock()
	ctx := d.urgent
	d.service.stopping()
	r := messages.ShutdownNode{KeepJobs: true, Reason: "the daemon ends"}
	live, _ := d.live(ctx)
	err := d.node.Shutdown(ctx, r)
	if errors.Is(err, keepJobs) {
		if live > 0 {
			d.log.Warn().Int("jobs", live).Msg("the jobs are ended with the daemon, which holds them itself")
		}
		r.KeepJobs = false
		err = d.node.Shutdown(ctx, r)
	} else if live > 0 {
		d.log.Info().Int("jobs", live).Msg("the jobs live on in the keeper")
	}
	_, err = d.finish(err)
	return err
}

// finish takes what became of the node. A refusal leaves all as it was.
func (d *daemon) finish(err error) ([]messages.Survivor, error) {
	var left *troupe.SurvivorsError
	var refused *messages.Error
	switch {
	case errors.As(err, &refused):
		return nil, err
	case errors.As(err, &left):
		d.log.Error().Interface("survivors", left.Survivors).Msg("processes could not be ended")
	case err != nil && !errors.Is(err, context.Canceled):
		d.log.Error().Err(err).Msg("the node has not ended in order")
	}
	d.service.stopping()
	d.once.Do(func() { close(d.ended) })
	if left != nil {
		return left.Survivors, nil
	}
	return nil, nil
}
