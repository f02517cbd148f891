package shell_test

import (
	"os"
	"testing"

	"troupe/backends/shell"
	"troupe/internal/test/conformance"
	"troupe/internal/test/hostile"
)

func TestMain(m *testing.M) {
	if code, ours := hostile.Main(os.Args[1:]); ours {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// A command in a live shell keeps the promises of any job, but for those that need a
// process of its own.
func TestConformance(t *testing.T) { conform(t, shell.Options{}) }

// So it does on a terminal.
func TestConformanceOnTerminals(t *testing.T) { conform(t, onTerminals) }

func conform(t *testing.T, o shell.Options) {
	conformance.Run(t, func(t *testing.T) conformance.Subject {
		r := newRig(t, o)
		return conformance.Subject{
			Backend: r.backend, Engine: r.engine, Real: true, Shared: true, Terminals: r.terminal, Reach: r.engine.Features().Isolation,
			Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin"},
		}
	})
}
