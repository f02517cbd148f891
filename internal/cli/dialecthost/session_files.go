package dialecthost

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"troupe/internal/artifact"
	"troupe/internal/cli/config"
)

// SessionFiles makes the directories in which the sessions of a server save long outputs.
type SessionFiles struct {
	dir, prefix string
	log         *slog.Logger
}

// NewSessionFiles removes the directories of ended sessions whose names begin with prefix.
func NewSessionFiles(at *config.Settings, prefix string, log *slog.Logger) SessionFiles {
	s := SessionFiles{sessionsDir(at), prefix, log}
	if _, err := artifact.Sweep(s.dir, prefix, nil); err != nil {
		log.Warn("cannot remove the files of ended sessions", "error", err)
	}
	return s
}

// sessionsDir returns the user's directory for files of sessions: in the temporary
// directory or, if another user has taken its name there, in the state directory.
func sessionsDir(at *config.Settings) string {
	own := filepath.Join(os.TempDir(), fmt.Sprintf("troupe-%d", unix.Geteuid()))
	if config.IsTaken(own) && at.State != "" {
		own = at.State
	}
	return filepath.Join(own, "sessions")
}

// Open returns the directory of a session. If it cannot be created, Open returns nil: long
// outputs are cut.
func (s SessionFiles) Open(name string) *artifact.Dir {
	dir, err := artifact.NewDir(s.dir, s.prefix+name)
	if err != nil {
		s.log.Warn("cannot save long outputs of a session to files", "session", name, "error", err)
	}
	return dir
}
