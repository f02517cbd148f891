package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/cli"
)

// A daemon whose journal finds no room refuses new jobs with what helps, and goes on to answer
// polls of events. A stream that is open has each end once when there is room.
func TestFaultEventsOfADaemonOnAFullDisk(t *testing.T) {
	t.Parallel()
	state := mounted(t, 16<<20)
	t.Cleanup(func() { endKeeper(state) })
	d := serves(t, []string{"TROUPE_STATE=" + state})
	ends := func() []string {
		q := d.beside("events", "--ends", "--json").start()
		lines := strings.Split(strings.TrimSpace(q.rest()), "\n")
		q.ends(0)
		return lines
	}
	d.beside("run", "true").start().ends(0)
	stream := d.beside("events", "-f", "--ends", "--json", "--after", "0").start()
	line, err := stream.out.ReadString('\n')
	require.NoError(t, err)
	got := []string{strings.TrimSpace(line)}
	require.Equal(t, got, ends())

	full := filepath.Join(state, "full")
	fill(t, full)
	ran, refused := 1, false
	for range 1000 {
		q := d.beside("run", "true").start()
		<-q.ended
		if refused = q.ProcessState.ExitCode() != 0; refused {
			q.ends(cli.StatusOwn)
			require.Contains(t, q.err.String(), "cannot write the journal")
			require.Contains(t, q.err.String(), "free disk space")
			break
		}
		ran++
	}
	require.True(t, refused, "%d jobs ran on a full disk", ran)
	d.err.has(t, "no new work is taken")
	recorded := ends()
	for range 5 {
		require.Equal(t, recorded, ends())
		d.beside("events", "--json", "--after", "1000000").start().ends(0)
		d.beside("ps", "-a").start().ends(0)
	}

	require.NoError(t, os.Remove(full))
	d.err.has(t, "the journal can be written again")
	d.beside("run", "true").start().ends(0)
	all := ends()
	require.GreaterOrEqual(t, len(all), ran+1)
	require.Equal(t, recorded, all[:len(recorded)])
	for len(got) < len(all) {
		line, err := stream.out.ReadString('\n')
		require.NoError(t, err)
		got = append(got, strings.TrimSpace(line))
	}
	require.Equal(t, all, got)
}
