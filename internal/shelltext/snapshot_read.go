package shelltext

import (
	"fmt"
	"slices"
	"strings"

	"troupe/messages"
)

// shellDump is the dumped state of a shell.
type shellDump struct {
	kind      string
	functions map[string]string // bash: whole; zsh: body
	aliases   map[string]string
	set       string // lines "set -o name" and "set +o name"
	shopt     string // lines "shopt -s name" and "shopt -u name" of bash
	path      string
	builtins  map[string]bool // of a shell that lists them
}

// Snapshot returns the script that sets up what a shell dumped with SnapshotRuns
// functions, options, aliases, then PATH. Equal dumps give equal scripts.
//
// It includes only options that change how a command is parsed, not whether it runs:
// another option broke every command (claude-code#47689). It leaves out functions and
// aliases with names of builtins and common tools, functions that zsh runs by itself, and
// functions that begin with an underscore, unless an included one calls them: a function
// without its helpers fails (claude-code#81694).
//
// The error unsupported with the reason snapshot explains why there is none.
func Snapshot(kind string, dump []byte) (string, *messages.Error) {
	t, err := readDump(kind, dump)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# The functions, options, aliases and PATH of ~/%s, as troupe found them.\n", startNames[kind])
	b.WriteString("\\unalias -a 2>/dev/null || :\n")
	if kind == Bash {
		b.WriteString("shopt -s extglob\n") // needed to parse functions that use it
	}
	aliases := t.keptAliases()
	for _, name := range t.keptFunctions(aliases) {
		b.WriteString(t.function(name))
	}
	b.WriteString(t.snapshotOptions())
	b.WriteString(t.aliasLines(aliases))
	if t.path != "" {
		b.WriteString("export PATH=" + Quote(t.path) + "\n")
	}
	return b.String(), nil
}

// readDump parses the fields.
func readDump(kind string, dump []byte) (*shellDump, *messages.Error) {
	if len(dump) > MaxSnapshot {
		return nil, NoSnapshot(fmt.Sprintf("it sets up more than %d MiB", MaxSnapshot>>20), "")
	}
	t := &shellDump{kind: kind, functions: map[string]string{}, aliases: map[string]string{}, builtins: map[string]bool{}}
	rest := string(dump)
	for {
		var field [3]string
		for i := range field {
			var ok bool
			if field[i], rest, ok = strings.Cut(rest, "\x00"); !ok {
				return nil, NoSnapshot("the shell exited before its dump was complete", "")
			}
		}
		name, text := field[1], field[2]
		switch field[0] {
		case "set":
			t.set = text
		case "shopt":
			t.shopt = text
		case "path":
			t.path = text
		case "builtins":
			for _, word := range strings.Fields(text) {
				t.builtins[word] = true
			}
		case "aliases":
			t.readAliases(text)
		case "alias":
			t.aliases[name] = text
		case "function":
			t.functions[name] = text
		case "end":
			if name != "end" || rest != "" {
				return nil, NoSnapshot("other output is mixed into the shell's dump", "")
			}
			return t, nil
		default:
			return nil, NoSnapshot("other output is mixed into the shell's dump", "")
		}
	}
}

// NoSnapshot returns the error for a missing snapshot; the shell starts without one.
func NoSnapshot(why, hint string) *messages.Error {
	return &messages.Error{Code: messages.Unsupported, Reason: "snapshot", Message: "there is no snapshot of the user's shell: " + why, Hint: hint}
}

// keptFunctions returns the names of the functions for the snapshot, sorted. A helper
// is included if an included text names it.
func (t *shellDump) keptFunctions(aliases []string) []string {
	quotes := on(t.set, "rcquotes") // zsh writes quotes for reading without this option
	helpers := map[string][]string{}
	var kept, texts []string
	for name, text := range t.functions {
		switch {
		case !functionName(name) || t.protected(name) || t.kind == Zsh && hook(name) || strings.HasPrefix(name, "__troupe_") || quotes && strings.Contains(text, "'"):
		case strings.HasPrefix(name, "_"):
			word := name[:wordEnd(name)]
			helpers[word] = append(helpers[word], name)
		default:
			kept, texts = append(kept, name), append(texts, text)
		}
	}
	for _, name := range aliases {
		texts = append(texts, t.aliases[name])
	}
	for len(texts) > 0 {
		text := texts[len(texts)-1]
		texts = texts[:len(texts)-1]
		for _, word := range underscored(text) {
			for _, name := range helpers[word] {
				kept, texts = append(kept, name), append(texts, t.functions[name])
			}
			delete(helpers, word)
		}
	}
	slices.Sort(kept)
	return kept
}

// underscored returns the words of a text that begin with an underscore: names of
// helpers, or their beginnings.
func underscored(text string) []string {
	var words []string
	for text != "" {
		if n := wordEnd(text); n > 0 {
			if text[0] == '_' {
				words = append(words, text[:n])
			}
			text = text[n:]
			continue
		}
		text = text[1:]
	}
	return words
}

// wordEnd returns the length of the leading letters, digits and underscores.
func wordEnd(text string) int {
	i := 0
	for i < len(text) && wordByte(text[i]) {
		i++
	}
	return i
}

func wordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// functionName reports whether every shell parses the name as one word without a
// meaning of its own.
func functionName(name string) bool {
	return aliasName(name) && name[0] != '-' && !slices.Contains(reserved, name)
}

func aliasName(name string) bool {
	for i := range len(name) {
		if !wordByte(name[i]) && !strings.ContainsRune("-.,:+@%", rune(name[i])) {
			return false
		}
	}
	return name != ""
}

var reserved = []string{
	"case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "foreach", "end", "function", "if", "in", "nocorrect", "repeat",
	"select", "then", "time", "until", "while",
}

// hook reports whether zsh runs a function of this name by itself: when the directory
// changes, at a signal or at its exit. Such a function would belong to every command.
func hook(name string) bool {
	return name == "chpwd" || name == "zshexit" || strings.HasPrefix(name, "TRAP")
}

// protected reports whether a name belongs to a program or builtin whose usual behaviour
// commands rely on.
func (t *shellDump) protected(name string) bool {
	_, found := slices.BinarySearch(commonTools, name)
	return found || t.builtins[name]
}

// commonTools has programs, and the builtins of a plain sh, which cannot list them. It is
// sorted.
var commonTools = []string{
	".", ":", "[", "alias", "awk", "basename", "bg", "break", "builtin", "cat", "cd", "chdir", "chmod", "command", "continue", "cp", "curl", "cut",
	"date", "declare", "diff", "dirname", "echo", "emulate", "env", "eval", "exec", "exit", "export", "false", "fd", "fg", "find", "getopts", "git",
	"grep", "hash", "head", "jobs", "kill", "less", "ln", "local", "ls", "make", "mkdir", "more", "mv", "node", "npm", "patch", "printf", "ps", "pwd",
	"python", "python3", "read", "readonly", "return", "rg", "rm", "rmdir", "sed", "set", "setopt", "sh", "shift", "shopt", "sleep", "sort", "source",
	"stat", "tail", "tar", "tee", "test", "times", "touch", "tr", "trap", "true", "type", "typeset", "ulimit", "umask", "unalias", "uniq", "unset",
	"unsetopt", "wait", "wc", "which", "winpty", "xargs",
}

// function returns the definition of a function.
func (t *shellDump) function(name string) string {
	text := strings.TrimRight(t.functions[name], "\n")
	if t.kind == Zsh {
		return name + " () {\n" + text + "\n}\n"
	}
	return text + "\n"
}
