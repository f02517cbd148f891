package shelltext

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Script is a text that was parsed.
type Script struct {
	Text string
	File *syntax.File

	// Commands are all simple commands with a name, in the order in which they
	// begin: also those in substitutions, functions, conditions and subshells.
	Commands []Command

	// Heredocs says that a here-document occurs somewhere. The positions of the
	// parser then span its body: do not cut the text by them.
	Heredocs bool

	quoted []span // where `>` compares or is said, and redirects nothing
}

// span is a part of a text, in bytes.
type span struct{ from, to int }

// Command is one simple command: a name and its arguments.
type Command struct {
	Words []Word // the name first; without assignments and redirections
	Stmt  *syntax.Stmt
	Call  *syntax.CallExpr

	// Stage is the place in its pipeline, from 0: behind the first, a command
	// reads what another one wrote, and so do those within a loop or subshell
	// that stands there.
	Stage int
}

// Name is the name of the command, or "" if only the shell can tell.
func (c Command) Name() string {
	if len(c.Words) == 0 || !c.Words[0].Literal {
		return ""
	}
	return c.Words[0].Text
}

// Word is one word of a command.
type Word struct {
	// Text is what the word says, without its quotes; if it is not literal, as it
	// is written.
	Text string
	// Literal says that no expansion of a variable, a command or arithmetic is in
	// it. Patterns, braces and a tilde may be.
	Literal bool
	Node    *syntax.Word
}

func newScript(text string, file *syntax.File) *Script {
	s := &Script{Text: text, File: file}
	stages := map[*syntax.Stmt]int{}
	within := []int{0} // the stage around each open node
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

// note keeps what is asked of the whole text.
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

// countStages numbers the statements of a pipeline. The tree leans to the left,
// so that its outermost part comes first and knows the whole length.
func countStages(pipe *syntax.BinaryCmd, stages map[*syntax.Stmt]int) {
	if _, done := stages[pipe.Y]; done {
		return
	}
	all := pipeline(pipe)
	for i, stage := range all {
		stages[stage] = i
	}
}

// pipeline is what a pipe joins, from left to right.
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

// Source is a part of the text as it is written.
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

// Literal is what a word says when its quotes and backslashes are gone, and
// whether it says so without the shell: `c\at` and `"c"at` do, `$X` and `$'\x63'`
// do not.
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

// unescape resolves backslashes: between double quotes they are of use before a
// few characters only.
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
