package shelltext

import (
	"fmt"
	"slices"
	"strings"

	"troupe/messages"
)

// shellDump is what a shell has told of itself.
type shellDump struct {
	kind      string
	functions map[string]string // bash: whole; zsh: the body
	aliases   map[string]string
	set       string // lines "set -o name" and "set +o name"
	shopt     string // lines "shopt -s name" and "shopt -u name", of bash
	path      string
}

// Snapshot is the script that sets up what a shell of a kind told, which is told by
// SnapshotRuns: functions, then options, then aliases, then PATH. It is the same for
// the same telling.
//
// Of options only those are in it that change how a command is read and not whether it
// runs: one more broke every command of others (claude-code#47689). Functions and aliases
// named like common tools are left out, and functions that begin with an underscore, unless
// one that is there calls them: without its helpers a cd is broken (claude-code#81694).
//
// An error of the code unsupported with the reason snapshot says why there is none.
func Snapshot(kind string, dump []byte) (string, *messages.Error) {
	t, err := readDump(kind, dump)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# The functions, options, aliases and PATH of ~/%s, as troupe found them.\n", startNames[kind])
	b.WriteString("\\unalias -a 2>/dev/null || :\n")
	if kind == Bash {
		b.WriteString("shopt -s extglob\n") // or functions that use it could not be read
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

// readDump reads the fields.
func readDump(kind string, dump []byte) (*shellDump, *messages.Error) {
	if len(dump) > MaxSnapshot {
		return nil, NoSnapshot(fmt.Sprintf("it sets up more than %d MiB", MaxSnapshot>>20), "")
	}
	t := &shellDump{kind: kind, functions: map[string]string{}, aliases: map[string]string{}}
	rest := string(dump)
	for {
		var field [3]string
		for i := range field {
			var ok bool
			if field[i], rest, ok = strings.Cut(rest, "\x00"); !ok {
				return nil, NoSnapshot("the shell ended before it had told what it has", "")
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
		case "aliases":
			t.readAliases(text)
		case "alias":
			t.aliases[name] = text
		case "function":
			t.functions[name] = text
		case "end":
			if name != "end" || rest != "" {
				return nil, NoSnapshot("something else wrote where the shell told what it has", "")
			}
			return t, nil
		default:
			return nil, NoSnapshot("something else wrote where the shell told what it has", "")
		}
	}
}

// NoSnapshot says why there is no snapshot; the shell starts without one.
func NoSnapshot(why, hint string) *messages.Error {
	return &messages.Error{Code: messages.Unsupported, Reason: "snapshot", Message: "there is no snapshot of the user's shell: " + why, Hint: hint}
}

// keptFunctions are the names of those that go into the snapshot, in order: helpers are
// there if what is there names them.
func (t *shellDump) keptFunctions(aliases []string) []string {
	quotes := on(t.set, "rcquotes") // zsh writes a quote as it reads it without this option
	helpers := map[string][]string{}
	var kept, texts []string
	for name, text := range t.functions {
		switch {
		case !functionName(name) || commonTool(name) || strings.HasPrefix(name, "__troupe_") || quotes && strings.Contains(text, "'"):
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

// underscored are the words of a text that begin with an underscore: what may be the name
// of a helper, or its beginning.
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

// wordEnd is how much of a text is letters, digits and underscores.
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

// functionName reports whether every shell reads the name as one word without a meaning of
// its own.
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

// commonTool reports whether a name is that of a program or builtin that commands expect to
// be what it is everywhere.
func commonTool(name string) bool {
	_, found := slices.BinarySearch(commonTools, name)
	return found
}

// commonTools are sorted.
var commonTools = []string{
	"alias", "awk", "basename", "builtin", "cat", "chmod", "command", "cp", "curl", "cut", "date", "declare", "diff", "dirname", "echo", "emulate",
	"env", "eval", "exec", "exit", "export", "fd", "find", "git", "grep", "head", "kill", "less", "ln", "local", "ls", "make", "mkdir", "more", "mv",
	"node", "npm", "patch", "printf", "ps", "pwd", "python", "python3", "read", "readonly", "return", "rg", "rm", "rmdir", "sed", "set", "setopt", "sh",
	"shift", "shopt", "sleep", "sort", "source", "stat", "tail", "tar", "tee", "test", "touch", "tr", "trap", "true", "type", "typeset", "unalias",
	"uniq", "unset", "unsetopt", "wait", "wc", "which", "winpty", "xargs",
}

// function writes one down.
func (t *shellDump) function(name string) string {
	text := strings.TrimRight(t.functions[name], "\n")
	if t.kind == Zsh {
		return name + " () {\n" + text + "\n}\n"
	}
	return text + "\n"
}
