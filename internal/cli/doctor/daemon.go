package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"troupe/backends/keeper"
	"troupe/client"
	"troupe/internal/cli"
	"troupe/internal/cli/config"
	"troupe/internal/cli/connect"
	"troupe/internal/limits"
)

// daemonFound is doctor's report of the daemon: its paths, and whether it runs.
type daemonFound struct {
	Socket  string `json:"socket"`
	State   string `json:"state"`
	Config  string `json:"config"` // "": no file, or an unusable one (Why)
	Running bool   `json:"running"`
	Version string `json:"version,omitempty"`
	PID     int    `json:"pid,omitempty"`
	Keeper  string `json:"keeper"` // text about the process that holds the jobs
	Holder  string `json:"keeper_version,omitempty"`
	Why     string `json:"why,omitempty"`

	Limits  []string         `json:"limits,omitempty"` // what limits the running daemon and its keeper
	Files   []*descriptors   `json:"open_files,omitempty"`
	Escaped []keeper.Escapee `json:"escaped,omitempty"` // processes that have left their jobs
}

// daemonTimeout bounds the wait for a daemon that does not answer.
const daemonTimeout = 5 * time.Second

// keeperText describes the keeper of a daemon.
func keeperText(state string) string {
	if runtime.GOOS != "linux" {
		return "none: jobs end with the daemon"
	}
	return "holds the jobs, at " + filepath.Join(state, config.KeeperName) + "; the daemon starts it"
}

// examineDaemon looks for the daemon. One that is not trusted or does not answer is a
// problem. A missing one is a problem only if it could not start.
func examineDaemon(m *cli.Main, c *doctorReport) *daemonFound {
	d := &daemonFound{}
	s, err := config.Read(m)
	if err != nil {
		d.Why = err.Error()
		c.problem("%v", err)
		return d
	}
	d.Socket, d.State, d.Config, d.Keeper = s.Socket, s.State, s.File(), keeperText(s.State)
	ctx, cancel := context.WithTimeout(context.Background(), daemonTimeout)
	defer cancel()
	at, err := connect.DialDaemon(ctx, s)
	if errors.Is(err, client.ErrNoDaemon) {
		c.examineStart(ctx, d, s)
		return d
	}
	if err == nil {
		defer at.Close()
		about, verr := at.Version(ctx)
		d.Running, d.Version, d.PID, err = verr == nil, about.Version, about.PID, verr
		if about.State != "" { // older daemons do not report it
			d.State, d.Keeper = about.State, keeperText(about.State)
			c.state(d.State, true)
			d.examineLimits()
			d.Escaped = connect.FindRunning(d.State).Escaped
		}
		if about.Faults != "" {
			c.problem("faults of the plan %s happen to the jobs of this daemon: it is for tests", about.Faults)
		}
		if d.Holder = about.Keeper; d.Holder != "" && d.Holder != d.Version {
			d.Keeper = fmt.Sprintf("troupe %s, not the build of the daemon: it had jobs when the daemon started (it lacks newer features; restart the daemon when no job runs, or stop both with troupe shutdown --stop-jobs)", d.Holder)
		}
		ails, herr := at.Problems(ctx)
		if herr == nil && ails.Keeper != "" {
			d.Keeper = ails.Keeper
			c.problem("%s", ails.Keeper)
		}
		if herr == nil && ails.Journal != "" {
			c.problem("nothing can be recorded, so no new job is accepted: %s", ails.Journal)
		}
	}
	if err != nil {
		d.Why = err.Error()
		c.problem("the daemon at %s cannot be used: %v", s.Socket, err)
	}
	return d
}

// examineStart finds what keeps a daemon from starting.
func (c *doctorReport) examineStart(ctx context.Context, d *daemonFound, s *config.Settings) {
	if err := connect.HeldByAnother(ctx, s.State); err != nil {
		d.Why = "not reachable at its socket, and a new one cannot start: see the problem below"
		c.problem("a daemon cannot start: %v", err)
		c.state(s.State, true)
		return
	}
	err := s.HasPlaces()
	if err == nil {
		c.state(s.State, false)
		err = limits.Refuse("daemon", limits.Examine(os.Getpid()))
	} else if s.State != "" {
		c.listState(s.State)
	}
	if err != nil {
		d.Why = "not running, and cannot start: see the problem below"
		c.problem("a daemon cannot start: %v", err)
	}
}

// examineLimits reports what limits the daemon and its keeper, and their open files. It is no
// problem: jobs run.
func (d *daemonFound) examineLimits() {
	for _, p := range []struct {
		name string
		pid  int
	}{{"daemon", d.PID}, {"keeper", keeper.Holder(filepath.Join(d.State, config.KeeperName))}} {
		if p.pid == 0 {
			continue
		}
		for _, f := range limits.Examine(p.pid) {
			d.Limits = append(d.Limits, p.name+": "+f.Text)
		}
		if files := descriptorsOf(p.name, p.pid, p.name == "keeper"); files != nil {
			d.Files = append(d.Files, files)
		}
	}
}

func (d *daemonFound) lines() [][2]string {
	if d.Socket == "" {
		return [][2]string{{"daemon", "not checked: see the problem below"}}
	}
	state := "not running; start it with troupe serve or troupe run -b"
	switch {
	case d.Running:
		state = fmt.Sprintf("troupe %s, process %d", d.Version, d.PID)
	case d.Why != "":
		state = d.Why
	}
	config := d.Config
	if config == "" {
		config = "no file"
	}
	lines := [][2]string{{"daemon", state}, {"keeper", d.Keeper}, {"socket", d.Socket}, {"state", d.State}, {"configuration", config}}
	for _, files := range d.Files {
		lines = append(lines, [2]string{"open files", files.String()})
	}
	for _, text := range d.Limits {
		lines = append(lines, [2]string{"limit", text})
	}
	for _, e := range d.Escaped {
		lines = append(lines, [2]string{"escaped", e.String() + " has left the tree of its job: its record or the log of the daemon names it; troupe stop of that job ends it, kill ends any"})
	}
	return lines
}
