package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/test/need"
)

// tsSteps is how many steps the day of tools/node/day has at least: one that ends early
// without a word has failed.
const tsSteps = 20

// The official TypeScript clients work with the program for a day: the SDK of the
// revisions with sessions, and that of the one without, over either transport.
func TestMCPDayOfTypeScriptClients(t *testing.T) {
	t.Parallel()
	node, modules := need.Node(t)
	need.Program(t, "python3")
	for _, sdk := range []string{"v1", "v2"} {
		for _, over := range []string{"stdio", "http"} {
			t.Run(sdk+" "+over, func(t *testing.T) {
				t.Parallel()
				d := serves(t, nil)
				day := d.beside("day", sdk, over)
				day.Path, day.Args = node, append([]string{"node", filepath.Join(modules, "..", "day", "main.mjs")}, day.Args[1:]...)
				day.Env = append(day.Env, fmt.Sprint("DAEMON_PID=", d.Process.Pid))
				if over == "http" {
					day.Env = append(day.Env, d.servesMCP()...)
				}
				steps := day.start().steps()
				day.ends(0)
				require.GreaterOrEqual(t, steps, tsSteps)
			})
		}
	}
}

// servesMCP starts a server over HTTP beside a daemon, and gives what its clients need.
func (p *process) servesMCP() []string {
	p.t.Helper()
	web := p.port()
	return []string{"MCP_URL=" + web.url, "MCP_TOKEN=" + web.token, fmt.Sprint("MCP_PID=", web.Process.Pid)}
}

// steps reads what a script has done to its end, each step a test, and counts them.
func (p *process) steps() int {
	for done := 0; ; done++ {
		line, err := p.out.ReadString('\n')
		if err != nil {
			return done
		}
		name, said, _ := strings.Cut(strings.TrimSpace(line), ": ")
		passed := p.t.Run(name, func(t *testing.T) {
			if !strings.HasSuffix(said, " ms") {
				<-p.ended
				t.Fatalf("%s\n%s", said, p.err)
			}
			t.Log(said)
		})
		if !passed {
			p.t.FailNow()
		}
	}
}
