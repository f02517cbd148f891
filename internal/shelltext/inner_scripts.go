package shelltext

import (
	"path"
	"strings"
)

// Bounds for commands within commands. Texts beyond them are not examined.
const (
	maxInnerDepth = 3
	maxInner      = 32 // texts, all depths together
)

// isShell reports whether a program runs the text after its -c.
func isShell(name string) bool {
	switch name {
	case "bash", "sh", "dash", "zsh", "ksh":
		return true
	}
	return false
}

// innerScripts returns the scripts within a script; textOf extracts one from a simple
// command.
func innerScripts(s *Script, textOf func([]Word) (string, bool)) []*Script {
	var all []*Script
	level := []*Script{s}
	for depth := 0; depth < maxInnerDepth && len(level) > 0; depth++ {
		var next []*Script
		for _, outer := range level {
			for _, c := range outer.Commands {
				if len(all)+len(next) >= maxInner {
					break
				}
				text, ok := textOf(c.Words)
				if !ok {
					continue
				}
				if inner, err := Parse(text); err == nil {
					inherit(inner, c.Stage)
					next = append(next, inner)
				}
			}
		}
		all = append(all, next...)
		level = next
	}
	return all
}

// inherit raises the stage of the commands of an inner script to that of the outer
// command.
func inherit(s *Script, stage int) {
	for i := range s.Commands {
		s.Commands[i].Stage = max(s.Commands[i].Stage, stage)
	}
}

// shellText returns the text of `bash -c <text>`, if it is literal.
func shellText(words []Word) (string, bool) {
	if !words[0].Literal || !isShell(path.Base(words[0].Text)) {
		return "", false
	}
	given := false
	for i := 1; i < len(words); i++ {
		w := words[i]
		switch {
		case !w.Literal:
			return "", false
		case w.Text == "--rcfile" || w.Text == "--init-file":
			i++
		case strings.HasPrefix(w.Text, "--"):
		case strings.HasPrefix(w.Text, "-") || strings.HasPrefix(w.Text, "+"):
			given = given || w.Text[0] == '-' && strings.Contains(w.Text, "c")
			if strings.HasSuffix(strings.ToLower(w.Text), "o") {
				i++ // name of an option
			}
		default:
			return w.Text, given // without -c it names a file
		}
	}
	return "", false
}
