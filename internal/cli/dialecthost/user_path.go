package dialecthost

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/oklog/ulid/v2"

	"troupe/backends/engine"
	"troupe/backends/snapshot"
	"troupe/internal/cli/config"
	"troupe/internal/shelltext"
	"troupe/messages"
	"troupe/spill"
)

// WithUserPath returns an environment with the PATH of the user's shell after its own. A
// desktop starts its programs with the directories of the system alone. If the user's PATH
// cannot be found, the log has the reason, and the environment stays.
func WithUserPath(ctx context.Context, env []string, at *config.Settings, log *slog.Logger) []string {
	choice, bad := shelltext.Select(shelltext.Setting{Path: at.Shell}, env, config.Executable)
	if !at.Snapshot || bad != nil || len(shelltext.SnapshotRuns(choice.Path)) == 0 {
		return env
	}
	start := shelltext.StartFile(shelltext.Kind(choice.Path), env)
	if _, err := os.Stat(start); err != nil { // the shell adds nothing
		return env
	}
	users, err := userPath(ctx, choice.Path, env)
	if err != nil {
		log.Warn("commands have only the PATH of this server: cannot get that of the user's shell", "error", err)
		return env
	}
	path := shelltext.AppendPath(shelltext.Value(env, "PATH"), users)
	env = slices.DeleteFunc(slices.Clone(env), func(entry string) bool { return strings.HasPrefix(entry, "PATH=") })
	return append(env, "PATH="+path)
}

// userPath returns the PATH of a snapshot of the user's shell. It makes the snapshot with an
// engine and a store of its own, which end with it.
func userPath(ctx context.Context, shell string, env []string) (string, error) {
	node := fmt.Sprintf("mcp-%d", os.Getpid())
	store, err := spill.OpenStore(spill.Options{Node: node})
	if err != nil {
		return "", err
	}
	defer store.Close()
	e, err := engine.New(engine.Options{Node: node, Store: store})
	if err != nil {
		return "", err
	}
	defer e.Close(false)
	maker := snapshot.New(e, snapshot.Options{
		Dir: store.Dir, NewID: func() messages.UID { return messages.UID(ulid.Make().String()) },
		Forget: func(id messages.UID) { _ = store.Remove(string(id)) },
	})
	defer func() { _ = maker.Close() }()
	file, why := maker.Of(ctx, shell, env)
	if why != nil {
		return "", why
	}
	text, err := os.ReadFile(file)
	return shelltext.SnapshotPath(string(text)), err
}
