package top

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"

	tea "charm.land/bubbletea/v2"
	"golang.org/x/sys/unix"

	"troupe/host"
	"troupe/internal/cli"
	"troupe/internal/cli/terminal"
	"troupe/messages"
)

// childProcess is the verb that has the terminal, and the guard of the screen, which does not
// run meanwhile: the verb has its own.
type childProcess struct {
	endGuard func()

	mu          sync.Mutex
	away        int         // verbs that have the terminal, will get it or had it: childEnded may be late
	process     *os.Process // nil: it does not run
	interrupted bool        // INT came before it ran
}

// childEnded reports that this program has the terminal again.
type childEnded struct{ err error }

// begins notes that a verb will have the terminal.
func (c *childProcess) begins() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.away++
	c.interrupted = false
}

// runs stores the process of the verb; nil: it has ended. An INT that came before is passed.
func (c *childProcess) runs(p *os.Process) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.process = p; p != nil && c.interrupted {
		_ = p.Signal(unix.SIGINT)
	}
}

// back notes that this program has the terminal again.
func (c *childProcess) back() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.away--
}

// pass passes a signal to the verb that has the terminal, and reports whether it ends this
// program; at once, if that waits for Enter. INT and QUIT are typed for the verb: the terminal
// itself sends them to its process.
func (c *childProcess) pass(sig os.Signal) (ends, atOnce bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch typed := sig == unix.SIGINT || sig == unix.SIGQUIT; {
	case c.away == 0:
		return true, false
	case typed:
		c.interrupted = true
		return false, false
	case c.process == nil:
		return true, true
	}
	_ = c.process.Signal(sig)
	return true, false
}

// verb is a verb of troupe that has the terminal until it ends. It implements tea.ExecCommand.
type verb struct {
	m     *cli.Main
	child *childProcess
	args  []string
	stays func(status int) bool // whether its output is left on the screen until Enter is pressed
}

// SetStdin implements tea.ExecCommand: the verb has the streams of this process.
func (v *verb) SetStdin(io.Reader)  {}
func (v *verb) SetStdout(io.Writer) {}
func (v *verb) SetStderr(io.Writer) {}

// Run implements tea.ExecCommand.
func (v *verb) Run() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	v.child.endGuard()
	defer func() { v.child.endGuard = terminal.GuardScreen(v.m) }()
	cmd := exec.Command(self, v.args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = v.m.In, v.m.Out, v.m.Err, v.m.Env
	endWithUs(cmd)
	runtime.LockOSThread() // until the verb has ended: the thread must live as long
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		return err
	}
	v.child.runs(cmd.Process)
	err = cmd.Wait()
	v.child.runs(nil)
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		return err
	}
	if v.stays(cmd.ProcessState.ExitCode()) {
		fmt.Fprint(v.m.Err, "troupe: Enter goes back to troupe top ")
		_, _ = bufio.NewReaderSize(v.m.In, 16).ReadSlice('\n')
	}
	return nil
}

// run runs a verb on this terminal.
func (m *model) run(stays func(status int) bool, args ...string) tea.Cmd {
	m.say("", nil)
	m.child.begins()
	return tea.Exec(&verb{m.Main, m.child, args, stays}, func(err error) tea.Msg { return childEnded{err} })
}

// attach attaches the terminal to the selected job. The detach keys come back at once; after an
// end or an error the screen stays until Enter.
func (m *model) attach() tea.Cmd {
	return m.onJob(func(at row) tea.Cmd {
		if at.job.State.Ended() {
			m.say("", &messages.Error{Code: messages.JobFinished, Message: fmt.Sprintf("job %s has finished", at.job.ID), Hint: "l shows its output"})
			return nil
		}
		return m.run(func(status int) bool {
			found, err := host.Ask(m.ctx(), m.Host(), messages.FindJob{Job: messages.JobID(at.job.UID)})
			return status != 0 || err != nil || found.Job.State.Ended()
		}, "attach", string(at.job.ID))
	})
}

// logs prints the output of the selected job and follows it until INT.
func (m *model) logs() tea.Cmd {
	return m.onJob(func(at row) tea.Cmd {
		return m.run(func(status int) bool { return status != cli.SignalBase+int(unix.SIGINT) && status != -1 }, "logs", "-f", string(at.job.ID))
	})
}
