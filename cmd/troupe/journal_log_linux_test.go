package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// In the journal of systemd each line of the daemon begins with its priority, the last error
// too. A variable that came from elsewhere makes no other file the journal.
func TestTheLogHasPrioritiesInTheJournal(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		other uint64
		ready string
		fails string
	}{
		"the journal":  {0, `<6>{"level":"info",`, "<3>troupe: "},
		"another file": {1, `{"level":"info",`, "troupe: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			require.NoError(t, err)
			journal, reader := os.NewFile(uintptr(pair[0]), "journal"), os.NewFile(uintptr(pair[1]), "reader")
			t.Cleanup(func() { _ = reader.Close() })
			var info unix.Stat_t
			require.NoError(t, unix.Fstat(pair[0], &info))
			p := program(t, "serve")
			p.Env = append(p.Env, fmt.Sprintf("JOURNAL_STREAM=%d:%d", info.Dev, info.Ino+c.other))
			p.Stderr = journal
			p.start()
			t.Cleanup(func() { p.swept() })
			lines := bufio.NewReader(reader)
			until := func(text, prefix string) {
				for {
					line, err := lines.ReadString('\n')
					require.NoError(t, err)
					require.Equal(t, c.other == 0, strings.HasPrefix(line, "<"), line)
					if strings.Contains(line, text) {
						require.True(t, strings.HasPrefix(line, prefix), line)
						return
					}
				}
			}
			until(`"message":"ready"`, c.ready)

			q := p.beside("serve")
			q.Stderr = journal
			q.start().ends(125)
			until("has locked the state directory "+filepath.Join(p.dir, "troupe"), c.fails)
			_ = journal.Close()
		})
	}
}
