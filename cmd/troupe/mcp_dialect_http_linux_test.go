package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// manner is how an agent works in a dialect.
type manner struct {
	config  string
	patient string // what more is set where a call must wait for the end
	here    params // of a command that others are to see nothing of
	quick   params // of any command
	beside  params // of one in the background
	list    string // the tool that lists what is there, with these parameters
	with    params
	other   string // a tool that must not find what another has begun
	finds   params
	gone    string
	lives   bool // commands one after the other have one shell
}

var manners = map[string]manner{
	"omp": {
		beside: params{"async": true}, list: "job", with: params{"list": true},
		other: "job", finds: params{"cancel": []string{"bg_1"}}, gone: "bg_1", lives: true,
	},
	"opencode": {
		config: "[opencode]\nbackground = true\n", here: params{"description": "looks"}, quick: params{"description": "looks"}, beside: params{"description": "lasts", "run_in_background": true},
		list: "tasklist", other: "taskstop", finds: params{"task_id": "x"}, gone: "There is no background task x", lives: true,
	},
	"copilot": {
		patient: "[copilot]\ninitial_wait = '10m'\n",
		here:    params{"description": "looks", "shellId": "place"}, quick: params{"description": "looks"}, beside: params{"description": "lasts", "mode": "async", "shellId": "mine"},
		list: "list_bash", other: "read_bash", finds: params{"shellId": "mine", "delay": 1}, gone: "mine",
	},
}

// Clients over HTTP have a session of a dialect each: jobs, ids, directories and shells
// are their own, and one that leaves takes its own and nothing else.
func TestMCPDialectsHaveASessionForEachClient(t *testing.T) {
	t.Parallel()
	for dialect, how := range manners {
		for name, flags := range map[string][]string{"daemon": nil, "alone": {"--no-daemon"}} {
			t.Run(dialect+" "+name, func(t *testing.T) {
				t.Parallel()
				d := program(t) // a place; nothing runs in it
				if flags == nil {
					d = serves(t, nil)
				}
				server := d.server(append([]string{"--http", "127.0.0.1:0", "--dialect", dialect}, flags...)...)
				server.Env = append(server.Env, d.configures(how.config))
				web := serving(server)
				require.NoError(t, os.Mkdir(d.file("below"), 0o700))
				one, other := web.agent("one", withSessions, nil), web.agent("other", withSessions, nil)

				for _, a := range []*agent{one, other} {
					said, _ := a.bash("echo \"<$X>\"; pwd; cd below; X=set", how.here)
					require.True(t, strings.HasPrefix(said, "<>\n"+d.dir+"\n"), said)
				}
				lasts := func(a *agent, file string) []string {
					begun := post(t, d.file(file+"-begun"))
					said, failed := a.bash(": "+file+"; echo $$ > "+file+"; echo > "+file+"-begun; exec sleep 600", how.beside)
					require.False(t, failed, said)
					begun()
					return d.pidsIn(d.file(file))
				}
				ones := lasts(one, "ones")
				said, _, _ := other.says(how.other, how.finds)
				require.Contains(t, said[0], how.gone)
				others := lasts(other, "others") // by the same name, where it has one
				said, _, _ = other.says(how.list, how.with)
				require.Contains(t, said[0], ": others;")
				require.NotContains(t, said[0], ": ones;")

				require.NoError(t, one.Close())
				leaveNothing(t, ones)
				settles(t, "sessions that have files", 1, func() int {
					files, err := filepath.Glob(d.file("troupe-*/sessions/mcp-*"))
					require.NoError(t, err)
					return max(1, len(files))
				})
				for _, pid := range others {
					require.True(t, alive(pid), "it is another's")
				}
				again, _ := other.bash("echo \"<$X>\"", how.here)
				require.Equal(t, how.lives, strings.HasPrefix(again, "<set>\n"), again)
				require.NoError(t, other.Close())
				leaveNothing(t, others)
			})
		}
	}
}
