package chaosrun

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	jsonv2 "github.com/go-json-experiment/json"

	"troupe/faults"
	"troupe/internal/cli"
	"troupe/internal/cli/config"
	"troupe/internal/cli/daemon"
	"troupe/internal/shelltext"
)

// Flags are the flags of chaos as they were typed.
type Flags struct {
	Seed uint64
	JSON bool
}

// Run runs a command against a daemon with a plan of faults. It returns the command's status.
func Run(m *cli.Main, f *Flags, seeded bool, plan string, command []string) error {
	p, err := daemon.LoadPlan(plan)
	if err != nil {
		return err
	}
	if seeded {
		p.Seed = f.Seed
	}
	dir, err := os.MkdirTemp("", "troupe-chaos-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	inside, err := surroundings(m, p, dir)
	if err != nil {
		return err
	}
	d, err := start(inside)
	if err != nil {
		return fmt.Errorf("the daemon with the faults cannot be started: %w", err)
	}
	signals := cli.Listen()
	defer signals.Close()
	status, err := run(inside, signals, command)
	rerr := d.report(m, f, filepath.Join(dir, "state"))
	if err = errors.Join(err, rerr, d.end()); err != nil || status == 0 {
		return err
	}
	return cli.ExitStatus(status)
}

// surroundings writes the plan and the configuration of the daemon, and returns what leads troupe
// and its clients there. The user's own settings apply, too.
func surroundings(m *cli.Main, p faults.Plan, dir string) (*cli.Main, error) {
	own, err := config.Read(m)
	if err != nil {
		return nil, err
	}
	plan, settings, bin := filepath.Join(dir, "plan.json"), filepath.Join(dir, "config.toml"), filepath.Join(dir, "bin")
	text, err := jsonv2.Marshal(p)
	if err == nil {
		err = os.WriteFile(plan, text, 0o600)
	}
	if err == nil {
		err = os.WriteFile(settings, []byte(fmt.Sprintf("faults = %q\n", plan)+own.Text()), 0o600)
	}
	if err == nil {
		err = os.Mkdir(bin, 0o700)
	}
	self, serr := os.Executable()
	if err = cmp.Or(err, serr); err == nil {
		err = os.Symlink(self, filepath.Join(bin, "troupe"))
	}
	if err != nil {
		return nil, err
	}
	inside := *m
	inside.Env = slices.DeleteFunc(slices.Clone(m.Env), func(v string) bool { // of another daemon, or of a job around us
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains([]string{shelltext.ScopeVar, shelltext.SessionVar, shelltext.JobVar, config.NoDaemonVar}, name)
	})
	path, _ := m.Getenv("PATH")
	for name, value := range map[string]string{
		config.FileVar: settings, config.StateVar: filepath.Join(dir, "state"), config.SocketVar: filepath.Join(dir, "daemon.sock"),
		"PATH": bin + string(filepath.ListSeparator) + path,
	} {
		inside.Env = shelltext.Set(inside.Env, name, value)
	}
	return &inside, nil
}

// run runs the command in the foreground and passes signals on to it.
func run(m *cli.Main, signals *cli.Signals, command []string) (status int, err error) {
	c := exec.Command(command[0], command[1:]...)
	c.Env, c.Stdin, c.Stdout, c.Stderr = m.Env, m.In, m.Out, m.Err
	if err := c.Start(); err != nil {
		_, _ = fmt.Fprintln(m.Err, "troupe:", err)
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
			return 127, nil
		}
		return 126, nil
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	for {
		select {
		case sig := <-signals.Incoming:
			if sig == syscall.SIGTERM || sig == syscall.SIGHUP { // a terminal sends the others to the command, too
				_ = c.Process.Signal(sig)
			}
		case err := <-ended:
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				return 0, err
			}
			if how, ok := c.ProcessState.Sys().(syscall.WaitStatus); ok && how.Signaled() {
				return cli.SignalBase + int(how.Signal()), nil
			}
			return c.ProcessState.ExitCode(), nil
		}
	}
}
