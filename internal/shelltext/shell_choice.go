package shelltext

import (
	"fmt"
	"path"
	"strings"

	"troupe/messages"
)

// Variables that prevent a login shell.
const (
	NoLoginVar       = "TROUPE_SHELL_NO_LOGIN"
	noLoginVarPi     = "PI_BASH_NO_LOGIN"
	noLoginVarClaude = "CLAUDE_BASH_NO_LOGIN"
)

// ShellChoice is a shell and how it runs a text.
type ShellChoice struct {
	Path  string   // absolute; "sh" if none was found, so that the start of the command fails with an error
	Words []string // words before the text: -l -c, or -c
}

// Argv returns the arguments that run a text.
func (c ShellChoice) Argv(text string) []string {
	return append(append([]string{c.Path}, c.Words...), text)
}

// Setting is a configured shell and where it can be changed.
type Setting struct{ Path, Where string }

// Select chooses the shell of an agent's commands: the setting, else $SHELL if
// it is bash or zsh, else bash, else sh, from PATH or the usual directories. It never
// chooses fish, since agents do not write fish. lookup reports whether an absolute path
// is an executable file.
//
// If the setting is not such a path, the error is invalid_params with the reason
// invalid_shell. It names the path and where to change it.
func Select(setting Setting, host []string, lookup func(path string) bool) (ShellChoice, *messages.Error) {
	c := ShellChoice{Path: setting.Path, Words: words(host)}
	if setting.Path == "" {
		c.Path = preferred(host, lookup)
		return c, nil
	}
	if path.IsAbs(c.Path) && lookup(c.Path) {
		return c, nil
	}
	e := messages.Invalid("invalid_shell", fmt.Sprintf("shell %q: not found or not executable", setting.Path))
	if !path.IsAbs(c.Path) {
		e.Message = fmt.Sprintf("shell %q: not an absolute path", setting.Path)
	}
	e.Hint = "change " + setting.Where + ", or leave it out: then a bash, zsh or sh is found"
	return ShellChoice{}, e
}

// SelectLogin chooses the shell for commands that a user types to an agent with !: the
// user's login shell of any kind, else sh.
func SelectLogin(host []string, lookup func(path string) bool) ShellChoice {
	c := ShellChoice{Path: Value(host, "SHELL"), Words: words(host)}
	if !path.IsAbs(c.Path) || !lookup(c.Path) {
		c.Path = Find("sh", host, lookup)
	}
	return c
}

// words returns the words before a text. A login shell has the PATH that its user
// expects.
func words(host []string) []string {
	if firstOf(host, NoLoginVar, noLoginVarPi, noLoginVarClaude) != "" {
		return []string{"-c"}
	}
	return []string{"-l", "-c"}
}

func preferred(host []string, lookup func(string) bool) string {
	if own := Value(host, "SHELL"); path.IsAbs(own) && lookup(own) {
		if kind := Kind(own); kind == Bash || kind == Zsh {
			return own
		}
	}
	if bash := Find("bash", host, lookup); bash != "bash" {
		return bash
	}
	return Find("sh", host, lookup)
}

// Find returns the path of a shell in PATH or the usual directories, or its name if it
// is not found. lookup is as for Select.
func Find(name string, host []string, lookup func(string) bool) string {
	dirs := append(strings.Split(Value(host, "PATH"), ":"), "/bin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin")
	for _, dir := range dirs {
		if full := path.Join(dir, name); path.IsAbs(dir) && lookup(full) {
			return full
		}
	}
	return name
}

// Kinds of shells that a snapshot can be made of.
const (
	Bash = "bash"
	Zsh  = "zsh"
	Sh   = "sh"
)

// Kind returns the kind of a shell by its name, which may contain a version: Bash, Zsh
// or Sh; "" for others.
func Kind(shell string) string {
	name := strings.TrimPrefix(path.Base(shell), "-")
	switch {
	case strings.Contains(name, "bash"):
		return Bash
	case strings.Contains(name, "zsh"):
		return Zsh
	case name == "sh" || name == "dash" || name == "ash":
		return Sh
	}
	return ""
}
