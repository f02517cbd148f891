package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// powershell is a client of the dialect copilot whose shell is the stand-in for pwsh.
func (p *process) powershell(config string) *agent {
	p.t.Helper()
	standIn, err := filepath.Abs(filepath.Join("testdata", "pwsh"))
	require.NoError(p.t, err)
	server := p.server("--dialect", "copilot")
	server.Env = append(server.Env, p.configures("[copilot]\nshell = 'powershell'\n"+config), "PATH="+standIn+":/usr/bin:/bin")
	return server.speaks(withSessions, nil)
}

// An agent that knows the tools of PowerShell finds them, in a live shell on a terminal
//
func TestMCPSpeaksPowerShell(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	a := d.powershell("")
	require.ElementsMatch(t, []string{"powershell", "read_powershell", "write_powershell", "stop_powershell", "list_powershell"}, toolNames(a))
	about := func(command string) params {
		return params{"command": command, "description": "tries it", "mode": "async", "shellId": "mine"}
	}
	_, _, _ = a.says("powershell", about("$kept = 7"))
	said, _, _ := a.says("read_powershell", params{"shellId": "mine", "delay": 60})
	require.Contains(t, said[0], "completed")
	_, _, _ = a.says("powershell", about("Write-Output kept $kept; read x; Write-Output got $x"))
	said, _, details := a.says("write_powershell", params{"shellId": "mine", "input": "yes{enter}", "delay": 60})
	require.Contains(t, said[0], "kept\n7\n")
	require.Contains(t, said[0], "got")
	require.Equal(t, 0.0, details["exitCode"])
	said, _, _ = a.says("stop_powershell", params{"shellId": "mine"})
	require.Contains(t, said[0], "stopped")
}

// In its own process a command of PowerShell has its status as the exit code.
func TestMCPSpeaksPowerShellInProcesses(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	a := d.powershell("process = true\n")
	require.ElementsMatch(t, []string{"powershell", "read_powershell", "stop_powershell", "list_powershell"}, toolNames(a))
	said, _, details := a.says("powershell", params{"command": "Write-Output hi; (exit 3)", "description": "fails"})
	require.Contains(t, said[0], "hi\n")
	require.Equal(t, 3.0, details["exitCode"])
}

// A suite that cannot run is refused at the start.
func TestBadInputCopilotShell(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	for config, want := range map[string]string{
		"shell = 'tcsh'":                        `copilot.shell is "tcsh"; use bash or powershell`,
		"shell = 'powershell'":                  "the PATH has no pwsh; install PowerShell",
		"shell = 'powershell'\nbash_env = true": "copilot.bash_env is of bash",
	} {
		p := d.beside("mcp", "--dialect", "copilot")
		p.Env = append(p.Env, d.configures("[copilot]\n"+config+"\n"), "PATH=/usr/bin:/bin")
		p.start()
		<-p.ended
		require.Equal(t, 2, p.ProcessState.ExitCode())
		require.Contains(t, p.err.String(), want)
	}
}
