package run

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"troupe/internal/cli"
	"troupe/internal/cli/config"
	"troupe/internal/shelltext"
	"troupe/messages"
)

// liveShell returns the shell for a new session whose request names none. It is the
// configured one, which must exist; else $SHELL if that is bash or zsh; else bash, else
// sh. "" stands for the bash that the daemon finds.
func liveShell(m *cli.Main) (string, error) {
	s, err := config.Read(m)
	if err != nil {
		return "", err
	}
	own, _ := m.Getenv("SHELL")
	host := m.Env
	if name := filepath.Base(own); name != shelltext.Bash && name != shelltext.Zsh { // other shells, also restricted ones, cannot be live shells
		host = slices.DeleteFunc(slices.Clone(host), func(kv string) bool { return strings.HasPrefix(kv, "SHELL=") })
	}
	choice, refused := shelltext.Select(shelltext.Setting{Path: s.Shell, Where: "shell in " + s.File()}, host, config.Executable)
	if refused != nil {
		return "", refused
	}
	if s.Shell == "" && choice.Path != own && filepath.Base(choice.Path) == shelltext.Bash {
		return "", nil
	}
	return choice.Path, nil
}

// snapshotError asks the daemon why the shell of a job started without the user's
// setup; "": it did not, or that is not known.
func (g *foreground) snapshotError(job messages.Record) string {
	if g.flags.JSON || !job.HasFlag(messages.FlagNoSnapshot) {
		return ""
	}
	in, _ := g.host.session(context.Background(), job)
	return in.SnapshotError
}
