package shell

import (
	"path/filepath"
	"strings"

	"troupe/backends"
	"troupe/internal/shelltext"
)

// script is the text that the shell runs for one command.
type script struct {
	begin   string // enters the directory and exports variables, on the first line of the text
	text    string // of the command
	exports bool   // begin exports a variable
}

// scriptOf builds the script of a command. Directory and exports stand on the first line of
// the command's text, so that line numbers in messages are right. The directory is entered
// even if the shell is there: it may have been replaced under its name.
func (d *driver) scriptOf(c backends.Command, prefix string) (s script) {
	var begin, text strings.Builder
	if c.Dir != "" {
		begin.WriteString(d.cd(c.Dir))
	}
	for _, kv := range c.Env {
		if name, value, ok := strings.Cut(kv, "="); ok && isName(name) {
			begin.WriteString(d.export(name, d.quote(value)))
			s.exports = true
		}
	}
	s.begin = begin.String()
	if len(c.Argv) == 0 {
		s.text = shelltext.Prefixed(prefix, c.Text)
		return s
	}
	if d.name != "" {
		text.WriteString("& ") // without it PowerShell prints a quoted word
	}
	for i, word := range c.Argv {
		if i > 0 {
			text.WriteByte(' ')
		}
		text.WriteString(d.quote(word))
	}
	s.text = text.String()
	return s
}

// finish returns the whole text of a script in a shell whose file is program.
func (d *driver) finish(s script, found shelltext.Findings, program string) string {
	switch {
	case found.Broken && program != "":
		return s.begin + d.checked(s.text, found.Before, program)
	case found.Pipe:
		return s.begin + s.text + d.pipes
	}
	return s.begin + s.text
}

// isName reports whether name is a valid variable name.
func isName(name string) bool {
	for i := range len(name) {
		c := name[i]
		if !(c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || i > 0 && c >= '0' && c <= '9') {
			return false
		}
	}
	return name != ""
}

// quotePOSIX quotes s as one word.
func quotePOSIX(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// quoteFish quotes s as one word of fish, where a backslash escapes within quotes.
func quoteFish(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}

// quotePwsh quotes s as one word of PowerShell.
func quotePwsh(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// enter returns a script that enters the first of dirs that exists, or the root.
func (d *driver) enter(dirs ...string) string {
	var b strings.Builder
	if d.name != "" {
		for _, dir := range dirs {
			b.WriteString("try { " + d.quoteCd(dir) + "; return } catch {}\n")
		}
		return b.String() + d.quoteCd("/") + "\n"
	}
	for _, dir := range dirs {
		if filepath.IsAbs(dir) {
			b.WriteString(d.quoteCd(dir) + " 2>/dev/null " + d.or)
		}
	}
	return b.String() + d.quoteCd("/") + "\n"
}
