package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// Another program rotates the log of a detached job, by copying and truncating it, then by
// renaming it. The log goes on in the file that the user named, with no byte that the job did
// not write, and a reader learns what is gone.
func TestFaultDetachedLogIsRotated(t *testing.T) {
	t.Parallel()
	for name, daemon := range map[string]bool{"with a daemon": true, "without one": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := program(t)
			if daemon {
				p = serves(t, nil)
			}
			second, third, end := gate(t, p.file("second")), gate(t, p.file("third")), gate(t, p.file("end"))
			file := p.detaches("echo one; read x <second; echo two; read x <third; echo three; read x <end")
			holds := func(name, want string) {
				t.Helper()
				eventually(t, name+" with "+want, func() bool {
					text, err := os.ReadFile(p.file(name))
					return err == nil && string(text) == want
				})
			}
			holds("out.log", "one\n")
			if daemon {
				q := p.beside("logs", "--pid-file", "out.pid").start() // its reader is there before
				require.Equal(t, "one\n", q.rest())
			}
			require.NoError(t, os.WriteFile(p.file("out.log.1"), []byte("one\n"), 0o600))
			require.NoError(t, os.Truncate(p.file("out.log"), 0))
			second()
			holds("out.log", "two\n")
			q := p.beside("logs", "--pid-file", "out.pid").start()
			require.Equal(t, "two\n", q.rest())

			require.NoError(t, os.Rename(p.file("out.log"), p.file("out.log.1")))
			third()
			holds("out.log", "three\n")
			holds("out.log.1", "two\n")
			end()
			p.beside("wait", "--pid-file", "out.pid").start().ends(0)
			unkept(t, file)
			record := p.beside("show", "--json", "--pid-file", "out.pid").start().rest()
			require.Contains(t, record, `"flags":["log_tampered"]`)
			require.Contains(t, record, `"output":{"merged":{"bytes":14,`)
			require.Contains(t, record, `"elided":[{"from":0,"to":8}]`)
			q = p.beside("logs", "--pid-file", "out.pid").start()
			require.Equal(t, "three\n", q.rest())
		})
	}
}
