package run

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"

	"troupe/internal/cli"
	"troupe/internal/cli/config"
	"troupe/internal/shelltext"
	"troupe/messages"
)

// liveShell is the shell of a session that is opened and names none: that of the
// setting, which must be there; else $SHELL, if it is a bash or zsh that can live; else
// bash, else sh. "" is the bash that the daemon finds.
func liveShell(m *cli.Main) (string, error) {
	s, err := config.Read(m)
	if err != nil {
		return "", err
	}
	own, _ := m.Getenv("SHELL")
	host := m.Env
	if name := filepath.Base(own); name != shelltext.Bash && name != shelltext.Zsh { // a restricted one cannot
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

// snapshotError asks why the shell of a job has nothing of what is set up for it.
func (g *foreground) snapshotError(job messages.Job) string {
	h, ok := g.host.(*daemonHost)
	if !ok || g.flags.JSON || !job.HasFlag(messages.FlagNoSnapshot) {
		return ""
	}
	in, _ := h.session(context.Background(), job)
	return in.SnapshotError
}

// session asks for the session of a job, as it is now. It may not be there.
func (h *daemonHost) session(ctx context.Context, job messages.Job) (in messages.SessionInfo, is bool) {
	list, err := h.client.Sessions(ctx, cmp.Or(job.Scope, messages.MainScope))
	if err != nil {
		return in, false
	}
	for _, s := range list {
		if s.Scope == job.Scope && s.Session == job.Session {
			return s, true
		}
	}
	return in, false
}
