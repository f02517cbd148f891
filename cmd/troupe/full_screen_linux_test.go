package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// show names a program that takes the whole screen, also when it ended so. On a terminal, logs
// leaves out what it has drawn, and a progress bar is its last state.
func TestAFullScreenProgramIsNamed(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	d.beside("run", "-b", "--pty", "--name", "editor", `printf '10%%\r100%%\nbegun\n\033[?1049h\033[2;1H~\033[3;1H~'; read -r a; printf '\033[?1049l'; read -r a; printf '\033[?47h'`).start().ends(0)
	full := func() bool {
		var job struct {
			FullScreen bool `json:"full_screen"`
		}
		p := d.beside("show", "--json", "editor").start()
		require.NoError(t, json.Unmarshal([]byte(p.rest()), &job))
		p.ends(0)
		return job.FullScreen
	}
	d.beside("wait", "--match", "~.*~", "editor").start().ends(0)
	require.True(t, full())
	p := d.beside("show", "editor").start()
	require.Contains(t, p.rest(), "  screen  takes the whole screen (alternate buffer); troupe screen j1 shows it\n")
	p.ends(0)

	d.beside("write", "editor", "").start().ends(0)
	d.beside("wait", "--match", `1049l`, "editor").start().ends(0)
	require.False(t, full())
	for _, args := range [][]string{{"logs", "editor"}, {"logs", "-n", "10", "editor"}} {
		c, p := openTerminal(t), d.beside(args...)
		p.at(c)
		p.ends(0)
		require.Contains(t, c.shown.String(), "100%\r\nbegun\r\n[… ", "%v", args)
		require.NotContains(t, c.shown.String(), "~~", "%v", args)
	}
	d.beside("write", "editor", "").start().ends(0)
	d.beside("wait", "editor").start().ends(0)
	require.True(t, full())
}
