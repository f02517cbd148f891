package console

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestR112_ATerminalHasTheValuesOfItsUser(t *testing.T) {
	got := terminalEnv([]string{"EDITOR=nano", "PAGER=most", "CI=1", "GH_PAGER=delta", "SSH_ASKPASS=/bin/ask"})
	for name, want := range map[string]string{
		"TERM": "xterm-256color", "CI": "1", "LESS": "", "NO_COLOR": "", "PAGER": "most", "GIT_PAGER": "most", "GH_PAGER": "delta",
		"GIT_EDITOR": "nano", "VISUAL": "nano", "EDITOR": "nano", "GIT_TERMINAL_PROMPT": "1", "SSH_ASKPASS": "/bin/ask",
	} {
		value, has := got[name]
		require.True(t, has, name)
		require.Equal(t, want, value, name)
	}
	require.NotContains(t, got, "npm_config_fund", "nothing is asked or drawn for it")
	got = terminalEnv(nil)
	require.Equal(t, []string{"less", "vi", ""}, []string{got["MANPAGER"], got["EDITOR"], got["CI"]})
}
