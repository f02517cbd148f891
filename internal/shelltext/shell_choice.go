package shelltext

import (
	"fmt"
	"path"
	"strings"

	"troupe/messages"
)

// The variables that make a shell no login shell.
const (
	NoLoginVar       = "TROUPE_SHELL_NO_LOGIN"
	noLoginVarPi     = "PI_BASH_NO_LOGIN"
	noLoginVarClaude = "CLAUDE_BASH_NO_LOGIN"
)

// ShellChoice is a shell, and how it runs a text.
type ShellChoice struct {
	Path  string   // absolute; "sh" where none was found: then the start of the command fails and says so
	Words []string // before the text: -l -c, or -c
}

// Argv are the words that run a text.
func (c ShellChoice) Argv(text string) []string {
	return append(append([]string{c.Path}, c.Words...), text)
}

// Setting is a shell that somebody has chosen, and where it can be changed.
type Setting struct{ Path, Where string }

// Select chooses the shell of an agent's commands: the one of the setting; else
// $SHELL, if that is a bash or zsh; else bash, else sh, in PATH or where shells usually
// are. fish is never chosen: what agents write is no fish. lookup reports whether the
// absolute path is that of a file that can be executed.
//
// A setting that is no such path is an error of the code invalid_params with the reason
// invalid_shell, which names the path and where to change it.
func Select(setting Setting, host []string, lookup func(path string) bool) (ShellChoice, *messages.Error) {
	c := ShellChoice{Path: setting.Path, Words: words(host)}
	if setting.Path == "" {
		c.Path = preferred(host, lookup)
		return c, nil
	}
	if path.IsAbs(c.Path) && lookup(c.Path) {
		return c, nil
	}
	e := messages.Invalid("invalid_shell", fmt.Sprintf("the shell %q is not there, or cannot be executed", setting.Path))
	if !path.IsAbs(c.Path) {
		e.Message = fmt.Sprintf("the shell %q is not named by an absolute path", setting.Path)
	}
	e.Hint = "change " + setting.Where + ", or leave it out: then a bash, zsh or sh is found"
	return ShellChoice{}, e
}

// SelectLogin chooses the shell for commands that a user types to an agent with !: the
// user's login shell, whichever it is, else sh.
func SelectLogin(host []string, lookup func(path string) bool) ShellChoice {
	c := ShellChoice{Path: Value(host, "SHELL"), Words: words(host)}
	if !path.IsAbs(c.Path) || !lookup(c.Path) {
		c.Path = Find("sh", host, lookup)
	}
	return c
}

// words are those before a text. A shell that reads its login files has the PATH that its
// user is used to.
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

// Find is the path of a shell in PATH or where shells usually are, or its name if it is
// nowhere. lookup is that of Select.
func Find(name string, host []string, lookup func(string) bool) string {
	dirs := append(strings.Split(Value(host, "PATH"), ":"), "/bin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin")
	for _, dir := range dirs {
		if full := path.Join(dir, name); path.IsAbs(dir) && lookup(full) {
			return full
		}
	}
	return name
}

// The kinds of shells that a snapshot can be made of.
const (
	Bash = "bash"
	Zsh  = "zsh"
	Sh   = "sh"
)

// Kind is which of them a shell is, by its name, which may have a version: bash, zsh, or sh
// and those that are like it; "" is another.
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
