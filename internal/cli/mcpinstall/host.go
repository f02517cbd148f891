package mcpinstall

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"troupe/internal/cli"
	"troupe/internal/cli/out"
	"troupe/messages"
)

// format edits the text of one kind of file.
type format interface {
	decode(text []byte) (map[string]any, error)
	set(text []byte, servers string, e entry) ([]byte, error)
	remove(text []byte, servers string) ([]byte, error)
}

// host is a program that starts MCP servers for an agent.
type host struct {
	name    string // as of the argument
	title   string
	files   func(userDirs) []string // of the user's servers: all that it reads; a new entry goes into the first
	servers string                  // the key under which it lists them
	format  format
	entry   func(program string) entry
	next    []string // what the user does after an installation
}

// hosts returns the hosts, those of a terminal first.
func hosts() []host { return append(terminalHosts(), editorHosts()...) }

// terminalHosts returns the hosts that run in a terminal.
func terminalHosts() []host {
	return []host{
		{"claude", "Claude Code", claudeFile, "mcpServers", jsonFormat{}, commandEntry(member{"type", "stdio"}), []string{
			"restart Claude Code; /mcp lists its servers",
			`its own shell: "permissions": {"deny": ["Bash"]} in ~/.claude/settings.json switches it off`,
		}},
		{"codex", "Codex", codexFile, "mcp_servers", tomlFormat{}, commandEntry(), []string{
			"restart Codex; codex mcp list names its servers",
			"its own shell: shell_tool = false under [features] in the same file switches it off",
		}},
		{"opencode", "opencode", opencodeFiles, "mcp", jsonFormat{comments: true}, listEntry(member{"type", "local"}), []string{
			"restart opencode; opencode mcp list names its servers",
			`its own shell: "permission": {"bash": "deny"} in the same file switches it off`,
		}},
		{"gemini", "Gemini CLI", geminiFile, "mcpServers", jsonFormat{comments: true}, commandEntry(), []string{
			"restart Gemini CLI; /mcp lists its servers",
			`its own shell: "tools": {"exclude": ["run_shell_command"]} in the same file switches it off`,
		}},
		{"copilot", "Copilot CLI", copilotFile, "mcpServers", jsonFormat{}, commandEntry(member{"type", "local"}, member{"tools", []string{"*"}}), []string{
			"restart Copilot CLI; copilot mcp list names its servers",
			"its own shell: copilot --excluded-tools=bash switches it off; it also wakes the agent, see docs/agents.md",
		}},
	}
}

// editorHosts returns the hosts that are editors.
func editorHosts() []host {
	return []host{
		{"vscode", "VS Code", vscodeFile, "servers", jsonFormat{comments: true}, commandEntry(member{"type", "stdio"}), []string{
			"in VS Code: MCP: List Servers starts it",
			"its own shell: deselect the terminal tools in the tools menu of the chat",
		}},
		{"cursor", "Cursor", cursorFile, "mcpServers", jsonFormat{comments: true}, commandEntry(), []string{"restart Cursor; its settings list the servers and switch them on"}},
	}
}

// Names lists the names of the hosts.
func Names() []string {
	var names []string
	for _, h := range hosts() {
		names = append(names, h.name)
	}
	return names
}

// find returns the host of a name.
func find(name string) (host, error) {
	all := hosts()
	i := slices.IndexFunc(all, func(h host) bool { return h.name == name })
	if i < 0 {
		e := messages.Invalid("host", "unknown host "+out.Quoted(name))
		e.Hint = "use " + strings.Join(Names(), ", ")
		return host{}, e
	}
	return all[i], nil
}

// commandEntry returns the entry of hosts that take a program and its arguments apart.
func commandEntry(more ...member) func(string) entry {
	return func(program string) entry {
		return append(slices.Clone(more), member{"command", program}, member{"args", []string{"mcp"}})
	}
}

// listEntry returns the entry of hosts that take one list.
func listEntry(more ...member) func(string) entry {
	return func(program string) entry {
		return append(slices.Clone(more), member{"command", []string{program, "mcp"}})
	}
}

// userDirs finds directories of the user as hosts do.
type userDirs struct {
	home string
	env  func(string) (string, bool)
}

// newUserDirs returns the directories of the caller.
func newUserDirs(m *cli.Main) (userDirs, error) {
	home, _ := m.Getenv("HOME")
	if !filepath.IsAbs(home) {
		e := messages.Invalid("home", "HOME names no directory")
		e.Hint = "set it to an absolute path"
		return userDirs{}, e
	}
	return userDirs{home, m.Getenv}, nil
}

// named returns the directory in a variable, or one below the home directory.
func (d userDirs) named(variable string, otherwise ...string) string {
	if dir, ok := d.env(variable); ok && filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(append([]string{d.home}, otherwise...)...)
}

func claudeFile(d userDirs) []string {
	return []string{filepath.Join(d.named("CLAUDE_CONFIG_DIR"), ".claude.json")}
}

func codexFile(d userDirs) []string {
	return []string{filepath.Join(d.named("CODEX_HOME", ".codex"), "config.toml")}
}

// opencodeFiles returns the files that opencode merges, first the one that is there and counts.
func opencodeFiles(d userDirs) []string {
	dir := filepath.Join(d.named("XDG_CONFIG_HOME", ".config"), "opencode")
	plain, comments := filepath.Join(dir, "opencode.json"), filepath.Join(dir, "opencode.jsonc")
	if exists(comments) {
		return []string{comments, plain, filepath.Join(dir, "config.json")}
	}
	return []string{plain, filepath.Join(dir, "config.json")}
}

func geminiFile(d userDirs) []string {
	return []string{filepath.Join(d.named("GEMINI_CLI_HOME"), ".gemini", "settings.json")}
}

func copilotFile(d userDirs) []string {
	return []string{filepath.Join(d.named("COPILOT_HOME", ".copilot"), "mcp-config.json")}
}

func vscodeFile(d userDirs) []string {
	dir := d.named("XDG_CONFIG_HOME", ".config")
	if runtime.GOOS == "darwin" {
		dir = filepath.Join(d.home, "Library", "Application Support")
	}
	return []string{filepath.Join(dir, "Code", "User", "mcp.json")}
}

func cursorFile(d userDirs) []string { return []string{filepath.Join(d.home, ".cursor", "mcp.json")} }

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
