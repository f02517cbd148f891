package main

import (
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
