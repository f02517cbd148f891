package units

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"troupe/internal/cli"
	"troupe/internal/cli/config"
	"troupe/messages"
)

// managerPatience bounds a request to the service manager, which waits until the daemon has ended.
const managerPatience = 90 * time.Second

// managed reports whether systemd --user runs for this user, and can be asked.
func managed(m *cli.Main) bool {
	dir, _ := m.Getenv(runtimeVar)
	_, err := exec.LookPath("systemctl")
	return err == nil && filepath.IsAbs(dir) && config.Exists(filepath.Join(dir, "systemd", "private"))
}

// managers returns the surroundings of systemd --user, which a service gets. If it cannot be
// asked, they are those after a login: HOME, no variables, and the directory of logind.
func managers(m *cli.Main) (surroundings, error) {
	home, err := homeOf(m)
	if err != nil {
		return nil, err
	}
	env := map[string]string{"HOME": home, runtimeVar: loginRuntime()}
	if managed(m) {
		said, err := systemctl(m, "show-environment")
		if err != nil {
			return nil, err
		}
		env[runtimeVar], _ = m.Getenv(runtimeVar) // by which it was found
		for line := range strings.Lines(said) {
			name, value, _ := strings.Cut(strings.TrimRight(line, "\n"), "=")
			env[name] = unquoted(value)
		}
	}
	return surroundingsOf(func(name string) string { return env[name] }), nil
}

// loginRuntime returns the directory that logind makes for a user.
func loginRuntime() string { return "/run/user/" + strconv.Itoa(os.Getuid()) }

// systemctl asks the service manager of the user, and returns what it prints.
func systemctl(m *cli.Main, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), managerPatience)
	defer cancel()
	args = append([]string{"--user"}, args...)
	cmd := exec.CommandContext(ctx, "systemctl", args...)
	cmd.Env = m.Env
	var failure strings.Builder
	cmd.Stderr = &failure
	said, err := cmd.Output()
	if err == nil {
		return string(said), nil
	}
	what := "systemctl " + strings.Join(args, " ")
	return "", &messages.Error{
		Code: messages.Refused, Reason: "systemd", Message: fmt.Sprintf("%s failed: %v: %s", what, err, strings.TrimSpace(failure.String())),
		Hint: "see journalctl --user, and run it again",
	}
}
