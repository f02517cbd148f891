package keeper_test

import (
	"os"
	"path/filepath"
	"testing"

	liveshell "troupe/backends/shell"
	"troupe/internal/test/conformance"
	"troupe/messages"
)

// A command in a live shell of a keeper keeps the promises that need no process of its
// own.
func TestConformanceOfShells(t *testing.T) { conformOfShells(t, liveshell.Options{}) }

// So it does on a terminal.
func TestConformanceOfShellsOnTerminals(t *testing.T) { conformOfShells(t, shellsOnTerminals) }

// shellsOnTerminals is how a backend of shells on terminals is made.
var shellsOnTerminals = liveshell.Options{Terminal: messages.Terminal{Rows: 24, Cols: 80}}

func conformOfShells(t *testing.T, o liveshell.Options) {
	for mode, reach := range map[string]messages.Isolation{roleArg: messages.InCgroup, noCgroups: messages.Subreaper} {
		t.Run(mode, func(t *testing.T) {
			if mode == roleArg {
				cgroups(t)
			}
			conformance.Run(t, func(t *testing.T) conformance.Subject {
				dir := keeperDir(t)
				c := open(t, dir, mode)
				t.Cleanup(func() {
					if left := c.Close(false); len(left) > 0 {
						t.Errorf("survivors: %+v", left)
					}
					if said, _ := os.ReadFile(filepath.Join(dir, "keeper.err")); len(said) > 0 {
						t.Errorf("the keeper said:\n%s", said)
					}
					if left, _ := filepath.Glob(filepath.Join(dir, "logs", "*", "troupe-s*")); len(left) > 0 {
						t.Errorf("%v is left", left)
					}
				})
				return conformance.Subject{
					Backend: liveshell.New(c, o), Engine: c, Reach: reach, Real: true, Shared: true, Terminals: o != liveshell.Options{},
					Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin"},
				}
			})
		})
	}
}
