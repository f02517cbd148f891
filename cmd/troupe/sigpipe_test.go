package main

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A follower of a silent job ends with its reader, as tail -f does, although no write
// fails.
func TestFollowersEndWithTheirReader(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	d.beside("run", "-b", "--name", "silent", "echo said; exec sleep 600").start().ends(0)
	d.beside("run", "-b", "--name", "apart", "--streams", "separate", "echo said; exec sleep 600").start().ends(0)
	d.beside("run", "-b", "-i", "--name", "reads", "read x; echo said; exec sleep 600").start().ends(0)
	d.beside("wait", "--match", "said", "silent", "apart").start().ends(0)
	d.beside("write", "reads", "go").start().ends(0)
	var followers []*process
	for _, args := range [][]string{{"logs", "-f", "silent"}, {"logs", "-f", "apart"}, {"events", "-f", "--after", "0"}, {"events", "-f", "--after", "0", "--json"}} {
		p := d.beside(args...).start()
		p.line() // it has begun, and what else it has to say fits in the pipe
		followers = append(followers, p)
	}
	followers = append(followers, d.beside("attach", "--watch", "silent").start(), d.beside("attach", "reads").start())
	for _, p := range followers {
		_ = p.pipe.Close()
	}
	for _, p := range followers {
		p.ends(128 + int(unix.SIGPIPE))
		require.Empty(t, p.err.String(), "%q", p.Args)
	}
}
