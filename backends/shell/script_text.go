package shell

import (
	"path/filepath"
	"strings"

	"troupe/backends"
	words "troupe/internal/shelltext"
)

// text is what the shell is to run: what the command wants before, then its text, all of
// it from the first line on, so that the numbers of lines in messages are true. The
// directory is entered also where the shell is there already: it may have been made anew
// under its name, or the shell may be wrong.
func (d *driver) text(c backends.Command, prefix string) string {
	var b strings.Builder
	if c.Dir != "" {
		b.WriteString(d.cd(c.Dir))
	}
	for _, kv := range c.Env {
		if name, value, ok := strings.Cut(kv, "="); ok && isName(name) {
			b.WriteString(d.export(name, d.quote(value)))
		}
	}
	if len(c.Argv) == 0 {
		b.WriteString(words.Prefixed(prefix, c.Text))
		return b.String()
	}
	if d.name != "" {
		b.WriteString("& ") // a word in quotes is a text else
	}
	for i, word := range c.Argv {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(d.quote(word))
	}
	return b.String()
}

// isName reports whether a variable can have the name.
func isName(name string) bool {
	for i := range len(name) {
		c := name[i]
		if !(c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || i > 0 && c >= '0' && c <= '9') {
			return false
		}
	}
	return name != ""
}

// quotePOSIX makes one word of any text.
func quotePOSIX(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// quoteFish does so for fish, where a backslash within quotes means something.
func quoteFish(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}

// quotePwsh does so for PowerShell.
func quotePwsh(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// enter is a text that goes to the first of some directories that is there.
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
