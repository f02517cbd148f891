package main

import (
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// lasts begins a command in the background that lasts, and gives its process.
func (a *agent) lasts(d *process, how manner, file string) []string {
	a.t.Helper()
	begun := post(a.t, d.file(file+"-begun"))
	said, failed := a.bash(": "+file+"; echo $$ > "+file+"; echo > "+file+"-begun; exec sleep 600", how.beside)
	require.False(a.t, failed, said)
	begun()
	return d.pidsIn(d.file(file))
}

// Jobs of a dialect end with their client, but for those that a person has promoted, and
// with --keep none does.
func TestMCPDialectsLeaveWhatIsKept(t *testing.T) {
	t.Parallel()
	for dialect, how := range manners {
		for name, flags := range map[string][]string{"ends": nil, "keep": {"--keep"}, "promoted": nil} {
			t.Run(dialect+" "+name, func(t *testing.T) {
				t.Parallel()
				d := serves(t, nil)
				a := d.set(dialect, how.config, flags...)
				pids := a.lasts(d, how, "lasts")
				if name == "promoted" {
					q := d.beside("ps", "-q").start()
					job := q.line()
					q.ends(0)
					d.beside("promote", job).start().ends(0)
				}
				require.NoError(t, a.in.Close())
				a.server.ends(0)
				if name == "ends" {
					leaveNothing(t, pids)
					return
				}
				for _, pid := range pids {
					require.True(t, alive(pid), "it is kept")
				}
			})
		}
	}
}

// The daemon is killed while an agent of a dialect has a command in the background,
// between two of its calls. The next call works in a new daemon, the command is there,
// and its end is reported once.
func TestFaultTheDaemonOfADialectDies(t *testing.T) {
	t.Parallel()
	for dialect, how := range manners {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			m := begins(t)
			open := gate(t, m.file("gate"))
			a := m.set(dialect, how.config)
			said, failed := a.bash("read x < gate; echo through; exit 5", how.beside)
			require.False(t, failed, said)
			_, _ = a.bash("echo before", how.here)
			m.killed()
			said, failed = a.bash("echo after", how.here)
			require.False(t, failed, said)
			require.True(t, strings.HasPrefix(said, "after\n"), said)
			list, _, _ := a.says(how.list, how.with)
			require.Contains(t, list[0], "read x < gate")
			open()
			var notices []string
			settles(t, "notices that have not come", 0, func() int {
				texts, _, _ := a.says("bash", with(how.quick, "command", "true"))
				notices = append(notices, texts[1:]...)
				return 1 - len(notices)
			})
			require.Len(t, notices, 1)
			require.Contains(t, notices[0], "code 5")
			for range 3 {
				texts, _, _ := a.says("bash", with(how.quick, "command", "true"))
				require.Len(t, texts, 1, "it was told")
			}
		})
	}
}

// The daemon is killed over a call: the command goes on, and the call has its result, with
// all that was written, and its code.
func TestFaultTheDaemonOfADialectDiesOverACall(t *testing.T) {
	t.Parallel()
	for dialect, how := range manners {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			m := begins(t)
			open, passed := gate(t, m.file("gate")), post(t, m.file("passed"))
			a := m.set(dialect, how.config+how.patient)
			answer := make(chan *sdk.CallToolResult, 1)
			failed := make(chan error, 1)
			go func() {
				r, err := a.CallTool(t.Context(), &sdk.CallToolParams{Name: "bash", Arguments: with(how.quick, "command", "echo begun; echo > passed; read x < gate; echo through; exit 5")})
				failed <- err
				answer <- r
			}()
			passed()
			m.killed()
			open()
			require.NoError(t, <-failed)
			said := (<-answer).Content[0].(*sdk.TextContent).Text
			require.True(t, strings.HasPrefix(said, "begun\nthrough\n"), said)
			require.Contains(t, said, "code 5")
		})
	}
}

// Where there is no place for the files of a session, its commands run all the same, and
// long outputs are cut without a file.
func TestFaultADialectHasNoPlaceForFiles(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	for dialect, how := range manners {
		for _, nowhere := range []string{"/dev/null/x", "relative"} {
			server := d.server("--dialect", dialect)
			config := how.config
			if dialect == "opencode" {
				config += "temp_dir = '/dev/null/x'\n"
			}
			server.Env = append(server.Env, "TMPDIR="+nowhere, "TROUPE_SOCKET="+d.socket(), d.configures(config+how.patient))
			a := server.speaks(withSessions, nil)
			said, failed := a.bash("seq 20000", how.quick)
			require.False(t, failed, "%s in %s: %s", dialect, nowhere, said)
			shows := "20000"
			if dialect == "copilot" {
				shows = "no file could be written"
			}
			require.Contains(t, said, shows, "%s in %s", dialect, nowhere)
			require.NotContains(t, said, "artifact://")
			require.NotContains(t, said, "saved to")
			require.NoError(t, a.in.Close())
			server.ends(0)
		}
	}
}

// with is parameters and one more.
func with(p params, name string, value any) params {
	all := params{name: value}
	for key, value := range p {
		all[key] = value
	}
	return all
}
