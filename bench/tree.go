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

// treeReady is what the root of a tree prints when all of it is there.
const treeReady = "ready\n"

// growTree makes a tree: args are the number of its processes, this one counted
// in, and the argument for sleep that marks them. Every other one begins a
// session of its own, so that a kill of the process group does not reach it.
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

// sleepProgram is the process that does nothing. It ends by itself should all
// else fail.
const sleepProgram = "/bin/sleep"

// sleepMark is the argument for sleep that marks the processes of one round of
// this worker: ten minutes, and a fraction that nobody else uses.
func sleepMark(round int) string { return sleepMarkOf(os.Getpid(), round) }

func sleepMarkOf(worker, round int) string { return fmt.Sprintf("600.%07d%06d", worker, round) }
