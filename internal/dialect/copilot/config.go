package copilot

import (
	"slices"

	"troupe/internal/shelltext"
	"troupe/messages"
)

// Config is what there is to know of a kind of shell: the names of its tools,
// who judges its commands, whether they are in a sandbox, and how they are started.
type Config struct {
	Kind  string // "bash", "powershell"
	Tools ToolNames
	// Program runs commands. Flags stand before the text of one that has a process of
	// its own, which Wrap, if it is not nil, makes such that its exit code is told.
	Program string
	Flags   []string
	Wrap    func(text string) string
	// Assess is why a command may not run; nil: each may.
	Assess func(text string, pids shelltext.Protected) error
	// Sandbox says that commands run in one: then they are on a terminal.
	Sandbox bool
	// NonInteractive is the init profile in which a shell first takes up BASH_ENV.
	NonInteractive bool
	// Init is what a live shell is given before its first command; "": nothing.
	Init string
}

// ToolNames are the names of a suite's tools.
type ToolNames struct{ Execute, Read, Write, Stop, List string }

// Names are all of them, in the order in which they are shown.
func (t ToolNames) Names() []string { return []string{t.Execute, t.Read, t.Write, t.Stop, t.List} }

func toolNames(kind string) ToolNames {
	return ToolNames{Execute: kind, Read: "read_" + kind, Write: "write_" + kind, Stop: "stop_" + kind, List: "list_" + kind}
}

// profileInit takes up a BASH_ENV that can be read, and undoes what it may have done to
// the prompts. That a live shell has none of them and no history is the engine's doing.
const profileInit = `[ -r "${BASH_ENV-}" ] && . "$BASH_ENV"
PS1='' PS2=''
unset HISTFILE`

// Bash is the config of the bash tools.
func Bash(nonInteractive bool) Config {
	c := Config{
		Kind: "bash", Tools: toolNames("bash"), Program: "bash", Flags: []string{"--norc", "--noprofile", "-c"}, Assess: shelltext.CheckKills, NonInteractive: nonInteractive,
	}
	if nonInteractive {
		c.Init = profileInit
	}
	return c
}

// powershellInit simplifies the prompt and has everything be UTF-8.
const powershellInit = `function prompt { '' }
[Console]::InputEncoding = [Console]::OutputEncoding = $OutputEncoding = [System.Text.UTF8Encoding]::new($false)`

// PowerShell is the config of the powershell tools.
func PowerShell() Config {
	return Config{
		Kind: "powershell", Tools: toolNames("powershell"), Program: "pwsh", Flags: []string{"-NoLogo", "-NoProfile", "-NonInteractive", "-Command"},
		Wrap: exitCodeOfPowerShell, Init: powershellInit,
	}
}

// exitCodeOfPowerShell ends a text with the status of its last command: that of a
// program, or 1 for a command of PowerShell that failed.
func exitCodeOfPowerShell(text string) string {
	return "$global:LASTEXITCODE = 0\n" + text + "\n" +
		"if ($?) { exit 0 } elseif ($LASTEXITCODE) { exit $LASTEXITCODE } else { exit 1 }"
}

// Capabilities are what a backend can do.
type Capabilities struct {
	TTYSupport    bool `json:"ttySupport"`
	TerminalInput bool `json:"terminalInput"`
}

// Capabilities are those of the backend that the config has: processes only outside a
// sandbox, and if spawn, the flag SHELL_SPAWN_BACKEND, is on.
func (c Config) Capabilities(spawn bool) Capabilities {
	terminal := c.Sandbox || !spawn
	return Capabilities{TTYSupport: terminal, TerminalInput: terminal}
}

// terminal is the size of each shell's terminal.
var terminal = messages.Terminal{Rows: 80, Cols: 120}

const termType = "TERM=xterm-color"

// largestArg is the longest text that is given to a program as one word: Linux takes
// 128 KiB.
const largestArg = 100 << 10

// argv are the words that run a text in a process of its own; false: it is too long for
// one, and the shell must read it.
func (c Config) argv(text string) ([]string, bool) {
	if c.Wrap != nil {
		text = c.Wrap(text)
	}
	if len(text) > largestArg {
		return nil, false
	}
	return append(append([]string{c.Program}, c.Flags...), text), true
}

// environment is that of the commands: the caller's without what looks like a secret and
// is not let through by name, and the agent's session. On a terminal programs
// may draw, but a pager would wait for keys; elsewhere they may not even ask.
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

// sessionVar tells jobs which agent's session they are of.
const sessionVar = "COPILOT_AGENT_SESSION_ID"
