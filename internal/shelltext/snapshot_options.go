package shelltext

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Options that a snapshot may set. Each changes how a command is parsed or what it
// matches. None affects whether the next command runs, what else is printed, or where
// input comes from.
var (
	setOptions   = []string{"noclobber", "physical", "pipefail"}
	shoptOptions = []string{
		"cdable_vars", "dotglob", "extglob", "failglob", "globasciiranges", "globskipdots", "globstar", "lastpipe", "localvar_inherit",
		"nocaseglob", "nocasematch", "nullglob", "patsub_replacement", "xpg_echo",
	}
	zshOptions = []string{
		"braceccl", "bareglobqual", "bashrematch", "bsdecho", "caseglob", "casematch", "cdablevars", "chaselinks", "clobber", "cshnullglob", "equals",
		"extendedglob", "globdots", "globstarshort", "interactivecomments", "kshglob", "magicequalsubst", "multios", "nomatch", "nullglob", "numericglobsort",
		"pipefail", "rcexpandparam", "shwordsplit",
	}
)

// snapshotOptions returns the lines that restore the options.
func (t *shellDump) snapshotOptions() string {
	var b strings.Builder
	switch t.kind {
	case Zsh:
		for _, name := range zshOptions {
			switch {
			case on(t.set, name):
				b.WriteString("setopt " + name + "\n")
			case off(t.set, name):
				b.WriteString("unsetopt " + name + "\n")
			}
		}
		return b.String()
	case Bash:
		for line := range strings.Lines(t.shopt) {
			sign, name, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "shopt "), " ")
			if (sign == "-s" || sign == "-u") && slices.Contains(shoptOptions, name) {
				b.WriteString("shopt " + sign + " " + name + "\n")
			}
		}
	}
	for _, name := range setOptions {
		if on(t.set, name) {
			b.WriteString("set -o " + name + "\n")
		}
	}
	if t.kind == Bash {
		b.WriteString("shopt -s expand_aliases\n")
	}
	return b.String()
}

// on reports whether the lines of set +o show an option as on. zsh shows one that is on
// by default as its opposite.
func on(lines, name string) bool {
	return hasLine(lines, "set -o "+name) || hasLine(lines, "set +o no"+name)
}

func off(lines, name string) bool {
	return hasLine(lines, "set +o "+name) || hasLine(lines, "set -o no"+name)
}

func hasLine(lines, line string) bool {
	for have := range strings.Lines(lines) {
		if strings.TrimSpace(have) == line {
			return true
		}
	}
	return false
}

// MaxAliasLines bounds the lines of aliases in a snapshot.
const MaxAliasLines = 1000

// keptAliases returns the names of the aliases for the snapshot, sorted.
func (t *shellDump) keptAliases() []string {
	var kept []string
	lines := 0
	for _, name := range slices.Sorted(maps.Keys(t.aliases)) {
		if !aliasName(name) || t.protected(name) || slices.Contains(reserved, name) || t.kind == Sh && name[0] == '-' {
			continue
		}
		if lines += 1 + strings.Count(t.aliases[name], "\n"); lines > MaxAliasLines {
			break
		}
		kept = append(kept, name)
	}
	return kept
}

func (t *shellDump) aliasLines(names []string) string {
	dashes := "-- "
	if t.kind == Sh {
		dashes = "" // dash would look for an alias of that name
	}
	var b strings.Builder
	for _, name := range names {
		fmt.Fprintf(&b, "alias %s%s=%s\n", dashes, name, Quote(t.aliases[name]))
	}
	return b.String()
}

// readAliases parses the output of alias: lines of "alias -- name=word" or "name=word"
// with a quoted word. It skips what it cannot parse.
func (t *shellDump) readAliases(text string) {
	for text != "" {
		line := strings.TrimPrefix(strings.TrimPrefix(text, "alias "), "-- ")
		name, rest, ok := strings.Cut(line, "=")
		if !ok {
			return
		}
		value, after, ok := unquote(rest)
		if ok && !strings.Contains(name, "\n") {
			t.aliases[name] = value
		}
		if _, text, ok = strings.Cut(after, "\n"); !ok {
			return
		}
	}
}

// unquote parses one word of a shell up to the end of its line, quoted by ' or ", or by
// backslashes. ok is false if the shell would expand a part of it.
func unquote(text string) (word, rest string, ok bool) {
	var b strings.Builder
	ok = true
	for text != "" && text[0] != '\n' {
		c := text[0]
		text = text[1:]
		switch c {
		case '\'', '"':
			part, after, closed := strings.Cut(text, string(c))
			if !closed || c == '"' && strings.ContainsAny(part, "$`\\") {
				ok = false
			}
			b.WriteString(part)
			text = after
		case '\\':
			if text == "" {
				return "", "", false
			}
			b.WriteByte(text[0])
			text = text[1:]
		case '$', '`', ' ', '\t', ';', '&', '|', '(', ')', '<', '>':
			ok = false
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), text, ok
}
