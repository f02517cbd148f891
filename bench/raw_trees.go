//go:build linux

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// rawTrees puts each process tree into a cgroup and kills that.
type rawTrees struct {
	trees, procs int
	self         string
	null         int
	base         string // parent of the trees' cgroups
	rounds       int
}

func newRawTrees(_ context.Context, e assignment) (runner, error) {
	base, err := cgroupOfCgroups()
	if err != nil {
		return nil, err
	}
	r := &rawTrees{trees: e.Size.Trees, procs: e.Size.Procs, base: base}
	// Orphans of a tree become children of this process, so that it can wait for them.
	err = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	var more error
	r.self, more = os.Executable()
	err = errors.Join(err, more)
	r.null, more = openNull()
	return r, errors.Join(err, more)
}

func (r *rawTrees) round(ctx context.Context) (values, error) {
	r.rounds++
	mark := sleepMark(r.rounds)
	var cgroups []string
	defer func() {
		_ = killTrees(cgroups) // after a failed round
		removeAll(cgroups)
	}()
	var ready []*os.File
	for i := range r.trees {
		dir := filepath.Join(r.base, strconv.Itoa(i))
		if err := os.Mkdir(dir, 0o755); err != nil {
			return nil, err
		}
		cgroups = append(cgroups, dir)
		out, err := r.grow(dir, mark)
		if err != nil {
			return nil, err
		}
		defer out.Close()
		ready = append(ready, out)
	}
	for _, out := range ready {
		if line, err := bufio.NewReader(out).ReadString('\n'); line != treeReady {
			return nil, fmt.Errorf("a tree did not grow: %w", err)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	if err := fullyGrown(mark, r.trees*r.procs); err != nil {
		return nil, err
	}
	start := time.Now()
	if err := killTrees(cgroups); err != nil {
		return nil, err
	}
	took := time.Since(start)
	left, err := marked(mark)
	return values{"stop": took.Seconds(), "left": float64(len(left))}, err
}

// grow starts a tree in a cgroup and returns its output.
func (r *rawTrees) grow(dir, mark string) (*os.File, error) {
	cgroup, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(cgroup)
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		return nil, err
	}
	defer unix.Close(pipe[1])
	out := os.NewFile(uintptr(pipe[0]), "tree")
	_, err = syscall.ForkExec(r.self, treeArgv(r.self, r.procs, mark), &syscall.ProcAttr{
		Env: os.Environ(), Files: []uintptr{uintptr(r.null), uintptr(pipe[1]), uintptr(r.null)},
		Sys: &syscall.SysProcAttr{Setsid: true, UseCgroupFD: true, CgroupFD: cgroup},
	})
	if err != nil {
		return nil, errors.Join(err, out.Close())
	}
	return out, nil
}

// killTrees kills the cgroups and waits until no process is left. All of them become
// children of this process, the subreaper.
func killTrees(cgroups []string) error {
	for _, dir := range cgroups {
		if err := os.WriteFile(filepath.Join(dir, "cgroup.kill"), []byte("1"), 0); err != nil {
			return err
		}
	}
	for reap(-1) {
	}
	return nil
}

func removeAll(dirs []string) {
	for _, dir := range dirs {
		_ = os.Remove(dir) // close reports what is left
	}
}

func (r *rawTrees) close() error { return errors.Join(os.Remove(r.base), unix.Close(r.null)) }

// treeArgv returns the command of a tree.
func treeArgv(self string, procs int, mark string) []string {
	return []string{self, treeRole, strconv.Itoa(procs), mark}
}

// fullyGrown returns an error unless so many processes carry the mark.
func fullyGrown(mark string, want int) error {
	pids, err := marked(mark)
	if err == nil && len(pids) != want {
		err = fmt.Errorf("%d processes run, want %d", len(pids), want)
	}
	return err
}
