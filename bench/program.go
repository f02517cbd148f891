//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// program is troupe as a user has it, with directories of its own.
type program struct {
	path string
	env  []string
	dir  string
}

// buildTroupe builds troupe in a directory: an agent or a user has the program and not its
// packages.
func buildTroupe(ctx context.Context, dir string) (program, error) {
	p := program{path: filepath.Join(dir, "troupe"), dir: dir}
	if _, err := exec.LookPath("go"); err != nil {
		return p, lacking{"go is not installed, troupe cannot be built"}
	}
	for name, value := range map[string]string{"HOME": "", "XDG_RUNTIME_DIR": "run", "XDG_STATE_HOME": "state", "XDG_CONFIG_HOME": "config", "XDG_CACHE_HOME": "cache"} {
		value = filepath.Join(dir, value)
		if err := os.MkdirAll(value, 0o700); err != nil {
			return p, err
		}
		p.env = append(p.env, name+"="+value)
	}
	p.env = append(p.env, "PATH="+os.Getenv("PATH"))
	if said, err := exec.CommandContext(ctx, "go", "build", "-C", "..", "-o", p.path, "./cmd/troupe").CombinedOutput(); err != nil {
		return p, fmt.Errorf("cannot build troupe: %w\n%s", err, said)
	}
	return p, nil
}

// command returns a call of the program.
func (p program) command(args ...string) *exec.Cmd {
	cmd := exec.Command(p.path, args...)
	cmd.Env = p.env
	return cmd
}

// shutdown ends the daemon with its jobs.
func (p program) shutdown() error { return p.command("shutdown", "--stop-jobs").Run() }
