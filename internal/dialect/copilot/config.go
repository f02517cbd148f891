package copilot

import (
	"slices"

	"troupe/internal/shelltext"
	"troupe/messages"
)

// Config describes a kind of shell: the names of its tools, the check of its
// commands, and how it starts them.
type Config struct {
	Kind  string // "bash", "powershell"
	Tools ToolNames
	// Program runs commands. Flags precede the text of a command in its own process. Wrap,
	// if not nil, changes that text so that the process exits with the command's status.
	Program string
	Flags   []string
	Wrap    func(text string) string
	// Assess returns an error for a command that may not run; nil: all may.
	Assess func(text string, pids shelltext.Protected) error
	// NonInteractive selects the init profile in which a shell sources BASH_ENV first.
	NonInteractive bool
	// Init is run in a live shell before its first command; "": nothing.
	Init string
}

// ToolNames holds the names of a suite's tools.
type ToolNames struct{ Execute, Read, Write, Stop, List string }

func toolNames(kind string) ToolNames {
	return ToolNames{Execute: kind, Read: "read_" + kind, Write: "write_" + kind, Stop: "stop_" + kind, List: "list_" + kind}
}

// profileInit sources a readable BASH_ENV and undoes its changes to the prompts. The engine
// starts live shells without prompts and history.
const profileInit = `[ -r "${BASH_ENV-}" ] && . "$BASH_ENV"
PS1='' PS2=''
unset HISTFILE`

// Bash returns the config of the bash tools.
func Bash(nonInteractive bool) Config {
	c := Config{
		Kind: "bash", Tools: toolNames("bash"), Program: "bash", Flags: []string{"--norc", "--noprofile", "-c"}, Assess: shelltext.CheckKills, NonInteractive: nonInteractive,
	}
	if nonInteractive {
		c.Init = profileInit
	}
	return c
}

// powershellInit empties the prompt and sets UTF-8.
const powershellInit = `function prompt { '' }
[Console]::InputEncoding = [Console]::OutputEncoding = $OutputEncoding = [System.Text.UTF8Encoding]::new($false)`

// PowerShell returns the config of the powershell tools.
func PowerShell() Config {
	return Config{
		Kind: "powershell", Tools: toolNames("powershell"), Program: "pwsh", Flags: []string{"-NoLogo", "-NoProfile", "-NonInteractive", "-Command"},
		Wrap: exitCodeOfPowerShell, Init: powershellInit,
	}
}

// exitCodeOfPowerShell appends an exit with the status of the last command: the code of a
// program, or 1 for a failed PowerShell command.
func exitCodeOfPowerShell(text string) string {
	return "$global:LASTEXITCODE = 0\n" + text + "\n" +
		"if ($?) { exit 0 } elseif ($LASTEXITCODE) { exit $LASTEXITCODE } else { exit 1 }"
}

// Capabilities lists what a backend supports.
type Capabilities struct {
	TTYSupport    bool `json:"ttySupport"`
	TerminalInput bool `json:"terminalInput"`
}

// terminal is the size of every shell's terminal.
var terminal = messages.Terminal{Rows: 80, Cols: 120}

const termType = "TERM=xterm-color"

// largestArg bounds a text that is passed as one argument, in bytes. Linux allows 128 KiB.
const largestArg = 100 << 10

// argv returns the argv that runs a text in its own process. false: the text is too long,
// and the shell must read it.
func (c Config) argv(text string) ([]string, bool) {
	if c.Wrap != nil {
		text = c.Wrap(text)
	}
	if len(text) > largestArg {
		return nil, false
	}
	return append(append([]string{c.Program}, c.Flags...), text), true
}

// environment returns the environment of commands: the caller's without variables that look
// like secrets and are not in pass, and the agent's session. On a terminal programs
// may draw, but a pager would wait for keys. Elsewhere they may not even prompt.
func (c Config) environment(caller, pass []string, session string, onTerminal bool) []string {
	var kept []string
	for _, entry := range shelltext.WithoutSecrets(caller, pass) {
		if shelltext.NameOf(entry) != "BASH_ENV" || onTerminal || c.NonInteractive {
			kept = append(kept, entry)
		}
	}
	calm := shelltext.NonInteractive(shelltext.SetsCI(caller))
	if onTerminal {
		calm = slices.DeleteFunc(calm, func(entry string) bool { return !isPager(shelltext.NameOf(entry)) })
		calm = append(calm, termType)
	}
	return shelltext.Overlay(kept, calm, []string{sessionVar + "=" + session})
}

// sessionVar names the variable with the agent's session, for jobs.
const sessionVar = "COPILOT_AGENT_SESSION_ID"
