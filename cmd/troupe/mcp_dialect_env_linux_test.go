package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Commands of a dialect have the environment of their server, except secrets that the
// user has not named.
func TestSecurityDialectsKeepSecrets(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	for _, dialect := range []string{"omp", "opencode", "copilot"} {
		server := d.server("--dialect", dialect)
		server.Env = append(server.Env, "OURS=1", "MY_TOKEN=a", "MY_API_KEY=b", "A_SECRET=c", "DB_PASSWORD=d", "NAMED_TOKEN=e", d.configures("[mcp]\nenv = ['NAMED_TOKEN']\n"))
		a := server.speaks(withSessions, nil)
		args := params{"command": "env"}
		if dialect != "omp" {
			args["description"] = "shows the environment"
		}
		said, failed, _ := a.says("bash", args)
		require.False(t, failed, said)
		for entry, there := range map[string]bool{
			"OURS=1": true, "NAMED_TOKEN=e": true, "MY_TOKEN=": false, "MY_API_KEY=": false, "A_SECRET=": false, "DB_PASSWORD=": false,
		} {
			require.Equal(t, there, strings.Contains("\n"+said[0], "\n"+entry), "%s: %s", dialect, entry)
		}
	}
}

// CI is true, and only omp adds the marks of its agent. The commands of copilot are on a
// terminal, where programs may draw.
func TestDialectsMarkTheirAgent(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	marks := func(line string) bool {
		name, _, _ := strings.Cut(line, "=")
		return name == "CI" || name == "OMPCODE" || name == "CLAUDECODE"
	}
	for dialect, want := range map[string]string{"omp": "CI=true CLAUDECODE=1 OMPCODE=1", "opencode": "CI=true", "copilot": ""} {
		server := d.server("--dialect", dialect)
		server.Env = slices.DeleteFunc(slices.Clone(server.Env), marks)
		args := params{"command": "env | sort"}
		if dialect != "omp" {
			args["description"] = "shows the environment"
		}
		said, failed, _ := server.speaks(withSessions, nil).says("bash", args)
		require.False(t, failed, said)
		got := slices.DeleteFunc(strings.Split(said[0], "\n"), func(line string) bool { return !marks(line) })
		require.Equal(t, want, strings.Join(got, " "), dialect)
	}
	r := d.server().speaks(withSessions, nil).run(params{"command": "echo $CI$OMPCODE$CLAUDECODE"})
	require.Equal(t, "true\n", r.Output)
}
