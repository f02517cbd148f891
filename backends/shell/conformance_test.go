package shell_test

import (
	"os"
	"testing"

	"troupe/backends/backendtest"
	"troupe/backends/backendtest/hostile"
	"troupe/backends/shell"
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
	backendtest.Run(t, func(t *testing.T) backendtest.Subject {
		r := newRig(t, o)
		return backendtest.Subject{
			Backend: r.backend, Engine: r.engine, Real: true, Shared: true, Terminals: r.terminal, Reach: r.engine.Features().Isolation,
			Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin"},
		}
	})
}
