package daemon

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"

	"troupe/internal/cli"
	"troupe/internal/cli/connect"
)

// Detach starts the same daemon again and returns. The new process is no descendant of the client
// that started this one. Some hosts end all descendants of their MCP servers when they exit
// (opencode does), which would end the daemon and the jobs of all other clients.
func Detach(m *cli.Main, f *Flags) error {
	report := connect.NewReadiness(f.ReadyFD)
	self, err := os.Executable()
	if err == nil {
		again := exec.Command(self, slices.DeleteFunc(slices.Clone(os.Args[1:]), func(arg string) bool { return arg == "--detach" || strings.HasPrefix(arg, "--detach=") })...)
		again.Args[0] = os.Args[0]
		again.Env, again.Stdout, again.Stderr, again.ExtraFiles = m.Env, m.Out, m.Err, report.Inherited()
		again.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		err = again.Start()
	}
	if err != nil {
		report.Tell(err)
	}
	return err
}
