package top

import (
	"os/exec"
	"syscall"
)

// endWithUs makes the kernel kill a process when the thread that starts it ends: with this process.
// The guard of the process restores the terminal.
func endWithUs(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
