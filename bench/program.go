//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// program is troupe, built as make build builds it, with directories of its own.
type program struct {
	path string
	env  []string
	dir  string
}

func buildProgram(ctx context.Context, dir string) (*program, error) {
	if _, err := exec.LookPath("go"); err != nil {
		return nil, lacking{"go is not installed, troupe cannot be built"}
	}
	p := &program{path: filepath.Join(dir, "troupe"), dir: dir}
	for name, value := range map[string]string{"HOME": "", "XDG_RUNTIME_DIR": "run", "XDG_STATE_HOME": "state", "XDG_CONFIG_HOME": "config", "XDG_CACHE_HOME": "cache"} {
		value = filepath.Join(dir, value)
		if err := os.MkdirAll(value, 0o700); err != nil {
			return nil, err
		}
		p.env = append(p.env, name+"="+value)
	}
	p.env = append(p.env, "PATH="+os.Getenv("PATH"))
	build := exec.CommandContext(ctx, "go", "build", "-C", "..", "-trimpath", "-ldflags=-s -w", "-o", p.path, "./cmd/troupe")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("cannot build troupe: %w\n%s", err, said)
	}
	return p, nil
}

func (p *program) command(args ...string) *exec.Cmd {
	cmd := exec.Command(p.path, args...)
	cmd.Env = p.env
	return cmd
}

// endDaemon ends the daemon that a verb has started, and its jobs.
func (p *program) endDaemon() error {
	if said, err := p.command("shutdown", "--stop-jobs").CombinedOutput(); err != nil {
		return fmt.Errorf("cannot end the daemon: %w\n%s", err, said)
	}
	return nil
}

// leastTime runs a whole process n times and returns the shortest time in milliseconds: what it
// costs where nothing else runs.
func leastTime(n int, command func() *exec.Cmd) (values, error) {
	var least time.Duration
	for range n {
		cmd, began := command(), time.Now()
		if err := cmd.Run(); err != nil {
			return nil, fmt.Errorf("%v: %w", cmd.Args, err)
		}
		if took := time.Since(began); least == 0 || took < least {
			least = took
		}
	}
	return values{"least": float64(least) / float64(time.Millisecond)}, nil
}

// otherJobs is a plan of faults for jobs that do not run.
const otherJobs = `{"rule":[{"where":"start","job":"none","do":"hang"},{"where":"exit","job":"none","do":"lost-exit"},{"where":"journal","job":"none","do":"no-space"}]}`

// plan lets the faults of a plan happen to the daemon that a verb starts.
func (p *program) plan(text string) error {
	config := filepath.Join(p.dir, "config", "troupe")
	file := filepath.Join(p.dir, "plan.json")
	err := os.MkdirAll(config, 0o700)
	if err == nil {
		err = os.WriteFile(file, []byte(text), 0o600)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(config, "config.toml"), []byte(fmt.Sprintf("faults = %q\n", file)), 0o600)
	}
	return err
}

// ourVerb runs a verb of the program again and again, as a loop of a shell does.
type ourVerb struct {
	program *program
	args    []string
	daemon  bool
	n       int
}

// listedJobs is the number of live jobs that ps lists.
const listedJobs = 10

func newOurVerb(ctx context.Context, e assignment) (runner, error) {
	p, err := buildProgram(ctx, filepath.Join(e.Dir, "program"))
	if err != nil {
		return nil, err
	}
	v := &ourVerb{program: p, n: e.Size.Verbs}
	switch e.Scenario {
	case "cli-version":
		v.args = []string{"version"}
	case "cli-ps":
		v.args, v.daemon = []string{"ps"}, true
	case "cli-run", "faults":
		v.args, v.daemon = []string{"run", "true"}, true
	case "cli-run-alone":
		v.args = []string{"run", "--no-daemon", "true"}
	}
	if !v.daemon {
		return v, nil
	}
	if e.Scenario == "faults" && e.Side == own {
		if err := p.plan(otherJobs); err != nil {
			return v, err
		}
	}
	for range listedJobs {
		if said, err := p.command("run", "-b", "sleep", "infinity").CombinedOutput(); err != nil {
			return v, fmt.Errorf("cannot start a job: %w\n%s", err, said)
		}
	}
	return v, nil
}

func (v *ourVerb) round(context.Context) (values, error) {
	return leastTime(v.n, func() *exec.Cmd { return v.program.command(v.args...) })
}

func (v *ourVerb) close() error {
	if !v.daemon {
		return nil
	}
	return v.program.endDaemon()
}

// rawVerb runs what bounds the time of a command without troupe.
type rawVerb struct{ n int }

func newRawVerb(_ context.Context, e assignment) (runner, error) {
	if _, err := exec.LookPath("timeout"); err != nil {
		return nil, lacking{"timeout is not installed"}
	}
	return &rawVerb{e.Size.Verbs}, nil
}

func (v *rawVerb) round(context.Context) (values, error) {
	return leastTime(v.n, func() *exec.Cmd { return exec.Command("timeout", "5", "bash", "-c", "true") })
}

func (*rawVerb) close() error { return nil }
