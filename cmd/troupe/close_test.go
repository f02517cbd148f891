package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// When a session is closed, the records of its jobs say that they have ended, and
// the events that it has.
func TestCloseIsOverWhenItIsSaid(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	for range 5 {
		var ids []string
		for range 3 {
			run := d.beside("run", "-b", "sleep 600 & exec sleep 600").start()
			ids = append(ids, run.line())
			run.ends(0)
		}
		c := d.beside("close", "--grace", "0", "default").start()
		c.ends(0)
		for _, id := range ids {
			require.Equal(t, "finished", d.record(id)["state"], id)
		}
		c = d.beside("sessions").start()
		require.NotContains(t, c.rest(), "default")
		c.ends(0)
		c = d.beside("events").start()
		all := strings.Split(strings.TrimSpace(c.rest()), "\n")
		require.Contains(t, all[len(all)-1], "session closed main default")
		c.ends(0)
	}
}
