package doctor

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"

	"github.com/oklog/ulid/v2"

	"troupe/backends"
	"troupe/backends/snapshot"
	"troupe/internal/cli"
	"troupe/internal/cli/config"
	"troupe/internal/cli/out"
	"troupe/internal/shelltext"
	"troupe/messages"
	"troupe/spill"
)

// shellFound is the report of a shell that commands may name.
type shellFound struct {
	Name     string         `json:"name"`
	Path     string         `json:"path"`              // "": not installed
	Version  string         `json:"version,omitempty"` // as the shell prints it; "" if it does not
	Is       string         `json:"is,omitempty"`      // target of Path's symbolic links, if named differently
	Snapshot *snapshotFound `json:"snapshot,omitempty"`
}

// snapshotFound is the state of the shell snapshot that live shells of one kind source.
type snapshotFound struct {
	State string `json:"state"` // made; failed; none: File does not exist; off: by the configuration
	File  string `json:"file"`  // start file of the user
	Why   string `json:"why,omitempty"`
}

// shellNames lists the shells known by name, the default first.
var shellNames = []string{"bash", "zsh", "sh", "dash", "fish", "pwsh"}

// shells finds the shells and runs them for their versions. No engine of this process may
// reap processes meanwhile.
func shells(snapshots map[string]*snapshotFound) []shellFound {
	var out []shellFound
	for _, name := range shellNames {
		s := shellFound{Name: name, Snapshot: snapshots[name]}
		if path := placeOf(name); path != "" {
			s.Path, s.Version = path, versionOf(name, path)
			if real, err := filepath.EvalSymlinks(path); err == nil && filepath.Base(real) != name {
				s.Is = real
			}
		}
		out = append(out, s)
	}
	return out
}

// placeOf returns the path of a shell, found as run finds it; "" if it is absent.
func placeOf(name string) string {
	if path := shelltext.Find(name, []string{"PATH=" + os.Getenv("PATH")}, config.Executable); filepath.IsAbs(path) {
		return path
	}
	return ""
}

// versionPatience bounds the wait for a shell that does not print its version.
const versionPatience = 5 * time.Second

// versionOf asks a shell for its version; "" if it prints none.
func versionOf(name, path string) string {
	if name == "dash" || name == "sh" { // dash prints none; sh is another shell
		return ""
	}
	ctx, cancel := context.WithTimeout(context.Background(), versionPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.WaitDelay = time.Second
	said, err := cmd.Output()
	if err != nil {
		return ""
	}
	return string(regexp.MustCompile(`[0-9]+\.[0-9][^\s,]*`).Find(said))
}

// examineSnapshots tests the snapshots as the configuration sets them.
func examineSnapshots(m *cli.Main, engine backends.Engine, store *spill.Disk) map[string]*snapshotFound {
	s, err := config.Read(m)
	if err != nil { // examineDaemon reports it
		return nil
	}
	return trySnapshots(engine, store, s.Snapshot)
}

// trySnapshots makes and removes a snapshot for each shell with a start file of the user, as
// live shells would.
func trySnapshots(engine backends.Engine, store *spill.Disk, on bool) map[string]*snapshotFound {
	maker := snapshot.New(engine, snapshot.Options{
		Dir: store.Dir, NewID: func() messages.UID { return messages.UID(ulid.Make().String()) },
		Forget: func(id messages.UID) { _ = store.Remove(string(id)) },
	})
	defer func() { _ = maker.Close() }()
	found := map[string]*snapshotFound{}
	for _, name := range []string{"bash", "zsh", "sh"} {
		path := placeOf(name)
		if path == "" {
			continue
		}
		f := &snapshotFound{State: "made", File: shelltext.StartFile(shelltext.Kind(path), os.Environ())}
		found[name] = f
		if !on {
			f.State = "off"
			continue
		}
		if _, err := os.Stat(f.File); err != nil {
			f.State = "none"
			continue
		}
		if _, why := maker.Of(context.Background(), path, os.Environ()); why != nil {
			f.State, f.Why = "failed", why.Message
		}
	}
	return found
}

// text describes the state of a snapshot.
func (f *snapshotFound) text() string {
	switch {
	case f == nil:
		return ""
	case f.State == "off":
		return "no snapshot: the configuration has snapshot = false"
	case f.State == "none":
		return "no snapshot: " + cmp.Or(f.File, "the start file of its user") + " does not exist"
	case f.State == "failed":
		return f.Why
	}
	return "snapshot of " + f.File
}

// printShells prints a line for each shell.
func printShells(w io.Writer, all []shellFound) {
	for _, s := range all {
		where := cmp.Or(s.Path, "not installed")
		if s.Is != "" {
			where += " (" + s.Is + ")"
		}
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\n", s.Name, out.Clean(where), out.Clean(s.Version), out.Clean(s.Snapshot.text()))
	}
}
