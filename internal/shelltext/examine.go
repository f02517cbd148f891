package shelltext

import (
	"errors"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Grammar is the language of a text.
type Grammar int

// The grammars. Other shells have none here.
const (
	NoGrammar Grammar = iota
	BashGrammar
	ZshGrammar
	POSIXGrammar
)

func (g Grammar) lang() syntax.LangVariant {
	switch g {
	case ZshGrammar:
		return syntax.LangZsh
	case POSIXGrammar:
		return syntax.LangPOSIX
	}
	return syntax.LangBash
}

// Findings is what a text of a shell command is made of. Whether it is broken is a guess:
// only the shell itself can tell.
type Findings struct {
	Change StateChange // of a text of bash, in a plain shell
	Broken bool        // a command of it does not parse
	Before int         // then: how many bytes of its first lines are whole commands
	Pipe   bool        // the last command is a pipeline, or runs one in the shell itself
}

// Examine parses a text of a live shell. plain says that the answer needs Change.
func Examine(text string, g Grammar, plain bool) Findings {
	f := Findings{Change: Anything}
	if g == NoGrammar || !plain && plainWords(text) {
		return f
	}
	file, err := parse(text, g.lang(), func() bool { return false })
	if err != nil {
		f.Before, f.Broken = wholeLines(text, g, err)
		return f
	}
	if plain {
		f.Change = fileChange(file)
	}
	f.Pipe = strings.IndexByte(text, '|') >= 0 && endsInPipe(file) && !strings.HasSuffix(text, `\`)
	return f
}

// plainWords reports whether a text is one simple command of plain words, which needs no
// parser.
func plainWords(text string) bool {
	first, _, _ := strings.Cut(strings.TrimLeft(text, " "), " ")
	if beginsCompound[first] {
		return false
	}
	for i := range len(text) {
		switch c := text[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte(" _-./:,=@%+", c) >= 0:
		default:
			return false
		}
	}
	return true
}

// beginsCompound has the words that begin another command than a simple one.
var beginsCompound = map[string]bool{
	"if": true, "then": true, "else": true, "elif": true, "fi": true, "do": true, "done": true, "case": true, "esac": true, "while": true, "until": true,
	"for": true, "select": true, "function": true, "time": true, "coproc": true, "repeat": true, "foreach": true, "end": true, "nocorrect": true, "in": true,
}

// endsInPipe reports whether the last command of a text is a pipeline, or may have one as
// the last that the shell itself runs.
func endsInPipe(file *syntax.File) (pipe bool) {
	if len(file.Stmts) == 0 {
		return false
	}
	syntax.Walk(file.Stmts[len(file.Stmts)-1], func(node syntax.Node) bool {
		switch n := node.(type) {
		case nil, *syntax.Subshell, *syntax.CmdSubst, *syntax.ProcSubst, *syntax.FuncDecl, *syntax.CoprocClause:
			return false
		case *syntax.Stmt:
			return !n.Background
		case *syntax.BinaryCmd:
			pipe = pipe || n.Op == syntax.Pipe || n.Op == syntax.PipeAll
		}
		return !pipe
	})
	return pipe
}

// maxTries bounds the search for the begin of a broken command, in lines.
const maxTries = 100

// wholeLines returns how many bytes of a text's first lines are commands that a shell runs
// before it meets the error. A shell reads line by line until a command is whole, so the
// command with the error begins in the line of the error, or before.
func wholeLines(text string, g Grammar, err error) (before int, found bool) {
	broken, ok := errors.AsType[*SyntaxError](err)
	if !ok || broken.Line == 0 {
		return 0, false
	}
	var starts []int // of the lines
	for at := 0; len(starts) < broken.Line; {
		starts = append(starts, at)
		next := strings.IndexByte(text[at:], '\n')
		if next < 0 {
			break
		}
		at += next + 1
	}
	for line := len(starts) - 1; line >= 0 && line >= len(starts)-maxTries; line-- {
		head := text[:starts[line]]
		if strings.HasSuffix(head, "\\\n") {
			continue
		}
		if _, err := parse(head, g.lang(), func() bool { return false }); err == nil {
			return len(head), true
		}
	}
	return 0, false
}
