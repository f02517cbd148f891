//go:build linux

package main

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
)

// treeRole is the first argument of this program as the root of a process tree.
const treeRole = "tree"

// treeReady is the output of a root when its tree is complete.
const treeReady = "ready\n"

// growTree starts a tree. args are the number of its processes, including this one, and
// the argument for sleep that marks them. Every other process has its own process
// session, out of reach for a kill of the process group.
func growTree(args []string) int {
	if len(args) != 2 {
		return 2
	}
	procs, err := strconv.Atoi(args[0])
	if err != nil {
		return 2
	}
	null, err := openNull()
	if err != nil {
		return 1
	}
	for i := range procs - 1 {
		_, err := syscall.ForkExec(sleepProgram, []string{"sleep", args[1]}, &syscall.ProcAttr{
			Env: os.Environ(), Files: []uintptr{uintptr(null), uintptr(null), uintptr(null)},
			Sys: &syscall.SysProcAttr{Setsid: i%2 == 0},
		})
		if err != nil {
			return 1
		}
	}
	if _, err := os.Stdout.WriteString(treeReady); err != nil {
		return 1
	}
	var status syscall.WaitStatus
	for {
		if _, err := syscall.Wait4(-1, &status, 0, nil); err == syscall.ECHILD {
			return 0
		}
	}
}

// sleepProgram is the idle process. It ends by itself if all else fails.
const sleepProgram = "/bin/sleep"

// sleepMark returns the argument for sleep that marks the processes of one round of
// this worker: ten minutes, and a unique fraction.
func sleepMark(round int) string { return sleepMarkOf(os.Getpid(), round) }

func sleepMarkOf(worker, round int) string { return fmt.Sprintf("600.%07d%06d", worker, round) }
