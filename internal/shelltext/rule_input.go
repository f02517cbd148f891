package shelltext

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// masked replaces a `>` that redirects nothing and a `&` that ends nothing.
const masked = "_"

// unredirected returns the text with each quoted or comparing `>` replaced.
func (s *Script) unredirected() string {
	if !strings.Contains(s.Text, ">") {
		return s.Text
	}
	b := []byte(s.Text)
	for _, q := range s.quoted {
		for i := max(q.from, 0); i < min(q.to, len(b)); i++ {
			if b[i] == '>' {
				b[i] = masked[0]
			}
		}
	}
	return string(b)
}

// render returns a simple command for rules: its words without quotes, one blank apart,
// then its input and output files. A here-document directly follows the name, as in
// `cat<< E`, so that no rule takes it for a file. A final `&` of a word is masked.
func (s *Script) render(c Command) string {
	var b strings.Builder
	writeWord(&b, c.Words[0].Text)
	for _, r := range c.Stmt.Redirs {
		if r.Op == syntax.Hdoc || r.Op == syntax.DashHdoc || r.Op == syntax.WordHdoc {
			b.WriteString("<< ")
			writeWord(&b, s.Source(r.Word))
		}
	}
	for _, w := range c.Words[1:] {
		b.WriteByte(' ')
		writeWord(&b, w.Text)
	}
	for _, r := range c.Stmt.Redirs {
		if sign := fileSign(r); sign != "" {
			b.WriteString(" " + sign + " ")
			writeWord(&b, s.Source(r.Word))
		}
	}
	line := b.String()
	if end := strings.TrimRight(line, blanks); strings.HasSuffix(end, "&") {
		line = end[:len(end)-1] + masked
	}
	return line
}

// fileSign returns the sign of a redirection that reads a file or writes the output to
// one; "" for devices.
func fileSign(r *syntax.Redirect) string {
	if target, ok := Literal(r.Word); ok && strings.HasPrefix(target, "/dev/") {
		return ""
	}
	switch {
	case r.Op == syntax.RdrIn && r.N == nil:
		return "<"
	case r.N != nil && r.N.Value != "1":
		return ""
	case r.Op == syntax.RdrOut || r.Op == syntax.RdrClob || r.Op == syntax.RdrAll:
		return ">"
	case r.Op == syntax.AppOut || r.Op == syntax.AppAll:
		return ">>"
	}
	return ""
}

var onOneLine = strings.NewReplacer(">", masked, "\n", " ", "\r", " ")

func writeWord(b *strings.Builder, word string) {
	if word == "" {
		word = "''"
	}
	_, _ = onOneLine.WriteString(b, word)
}

// maxJudged bounds the simple commands of one text that are checked.
const maxJudged = 1000

// ruleInput is a command as rules see it.
type ruleInput struct {
	parsed   bool
	text     string   // whole text; if parsed, without false redirections
	commands []string // simple commands
}

func look(text string) ruleInput {
	script, err := Parse(text)
	if err != nil {
		return ruleInput{text: text}
	}
	view := ruleInput{parsed: true, text: script.unredirected()}
	for _, s := range append([]*Script{script}, innerScripts(script, shellText)...) {
		for _, c := range s.Commands {
			if c.Stage == 0 && len(view.commands) < maxJudged {
				view.commands = append(view.commands, s.render(c))
			}
		}
		if n := len(s.File.Stmts); n > 0 && s.File.Stmts[n-1].Background {
			view.commands = append(view.commands, " &") // the trailing one, alone
		}
	}
	return view
}

func (j ruleInput) matches(r rule) bool {
	if j.parsed && slices.ContainsFunc(j.commands, r.found) {
		return true
	}
	return (!j.parsed || !r.builtIn) && r.found(j.text)
}

func (r rule) found(text string) bool { return len(text) <= r.most && r.search.MatchString(text) }
