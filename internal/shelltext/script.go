package shelltext

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Script is a parsed text.
type Script struct {
	Text string
	File *syntax.File

	// Commands holds all simple commands with a name in order of their beginning,
	// including those in substitutions, functions, conditions and subshells.
	Commands []Command

	// Heredocs reports whether a here-document occurs anywhere. Positions of the parser
	// then span its body: do not cut the text by them.
	Heredocs bool

	quoted []span // ranges where `>` redirects nothing
}

// span is a byte range of a text.
type span struct{ from, to int }

// Command is one simple command: a name and its arguments.
type Command struct {
	Words []Word // name first; without assignments and redirections
	Stmt  *syntax.Stmt
	Call  *syntax.CallExpr

	// Stage is the position in its pipeline, from 0. A command after the first reads
	// another's output, and so do commands in a loop or subshell at that position.
	Stage int
}

// Name returns the name of the command, or "" if it is not literal.
func (c Command) Name() string {
	if len(c.Words) == 0 || !c.Words[0].Literal {
		return ""
	}
	return c.Words[0].Text
}

// Word is one word of a command.
type Word struct {
	// Text is the word without its quotes, or its source if it is not literal.
	Text string
	// Literal means that the word has no expansion of a variable, a command or
	// arithmetic. It may have patterns, braces and a tilde.
	Literal bool
	Node    *syntax.Word
}

func newScript(text string, file *syntax.File) *Script {
	s := &Script{Text: text, File: file}
	stages := map[*syntax.Stmt]int{}
	within := []int{0} // stage around each open node
	syntax.Walk(file, func(node syntax.Node) bool {
		if node == nil {
			within = within[:len(within)-1]
			return true
		}
		stage := within[len(within)-1]
		switch n := node.(type) {
		case *syntax.BinaryCmd:
			if n.Op == syntax.Pipe || n.Op == syntax.PipeAll {
				countStages(n, stages)
			}
		case *syntax.CmdSubst, *syntax.ProcSubst, *syntax.FuncDecl:
			stage = 0
		case *syntax.Stmt:
			stage = max(stage, stages[n])
			if call, ok := n.Cmd.(*syntax.CallExpr); ok && len(call.Args) > 0 {
				s.Commands = append(s.Commands, Command{Words: s.words(call.Args), Stmt: n, Call: call, Stage: stage})
			}
		}
		s.note(node)
		within = append(within, stage)
		return true
	})
	return s
}

// note records facts about the whole text.
func (s *Script) note(node syntax.Node) {
	switch n := node.(type) {
	case *syntax.Redirect:
		if n.Op == syntax.Hdoc || n.Op == syntax.DashHdoc {
			s.Heredocs = true
		}
		if n.Hdoc != nil {
			s.quote(n.Hdoc)
		}
	case *syntax.SglQuoted, *syntax.DblQuoted, *syntax.ArithmExp, *syntax.ArithmCmd, *syntax.TestClause:
		s.quote(node)
	}
}

func (s *Script) quote(node syntax.Node) {
	q := span{int(node.Pos().Offset()), int(node.End().Offset())}
	if n := len(s.quoted); n > 0 && s.quoted[n-1].from <= q.from && q.to <= s.quoted[n-1].to {
		return // within the last
	}
	s.quoted = append(s.quoted, q)
}

// countStages numbers the statements of a pipeline. The tree leans left, so the
// outermost part comes first and knows the whole length.
func countStages(pipe *syntax.BinaryCmd, stages map[*syntax.Stmt]int) {
	if _, done := stages[pipe.Y]; done {
		return
	}
	all := pipeline(pipe)
	for i, stage := range all {
		stages[stage] = i
	}
}

// pipeline returns the statements that pipes join, from left to right.
func pipeline(pipe *syntax.BinaryCmd) []*syntax.Stmt {
	stages := []*syntax.Stmt{pipe.Y}
	left := pipe.X
	for {
		next, ok := left.Cmd.(*syntax.BinaryCmd)
		if !ok || (next.Op != syntax.Pipe && next.Op != syntax.PipeAll) {
			break
		}
		stages = append(stages, next.Y)
		left = next.X
	}
	stages = append(stages, left)
	for i, j := 0, len(stages)-1; i < j; i, j = i+1, j-1 {
		stages[i], stages[j] = stages[j], stages[i]
	}
	return stages
}

// Source returns the part of the text that node spans.
func (s *Script) Source(node syntax.Node) string {
	from, to := int(node.Pos().Offset()), int(node.End().Offset())
	if from < 0 || to > len(s.Text) || from > to {
		return ""
	}
	return s.Text[from:to]
}

func (s *Script) words(nodes []*syntax.Word) []Word {
	words := make([]Word, len(nodes))
	for i, node := range nodes {
		text, ok := Literal(node)
		if !ok {
			text = s.Source(node)
		}
		words[i] = Word{Text: text, Literal: ok, Node: node}
	}
	return words
}

// Literal returns a word without quotes and backslashes. ok is false if only the shell
// knows the result: `c\at` and `"c"at` are literal, `$X` and `$'\x63'` are not.
func Literal(word *syntax.Word) (string, bool) {
	if text := word.Lit(); text != "" && !strings.Contains(text, `\`) {
		return text, true
	}
	var b strings.Builder
	for _, part := range word.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			unescape(&b, p.Value, false)
		case *syntax.SglQuoted:
			if p.Dollar && strings.Contains(p.Value, `\`) {
				return "", false
			}
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			for _, inner := range p.Parts {
				lit, ok := inner.(*syntax.Lit)
				if !ok {
					return "", false
				}
				unescape(&b, lit.Value, true)
			}
		default:
			return "", false
		}
	}
	return b.String(), true
}

// unescape resolves backslashes. In double quotes they apply to a few characters only.
func unescape(b *strings.Builder, text string, quoted bool) {
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) {
			if next := text[i+1]; next == '\n' {
				i++
				continue
			} else if !quoted || strings.IndexByte("$`\"\\", next) >= 0 {
				i++
			}
		}
		b.WriteByte(text[i])
	}
}
