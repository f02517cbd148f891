package shelltext

import (
	"regexp"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Limited is a command whose trailing `| head -N` or `| tail -N` was taken out.
//
// A head limit ended the producer by SIGPIPE; without the pipe whoever runs the
// command has to end it, once Head lines are there (see LineLimit), and such an end
// is exit 0. In a live shell, where nothing can be closed, a head limit is better
// left in the command.
type Limited struct {
	Command    string // what is run
	Pipe       string // what was taken: Command+Pipe is the text without outer blanks
	Head, Tail int    // lines; 0 is no limit
}

// limitPipe is the grammar of what is taken. Like the other patterns here it is made
// ready as it is needed: a program that never asks pays nothing.
const limitPipe = `^\|\s*(head|tail)\s+(?:-n\s*(\d+)|-(\d+))$`

const blanks = " \t\r\n"

// SplitLimits takes one trailing limit out of a command, if that changes nothing
// but who counts the lines: the parser proves that the pipe ends the text and
// that the whole output goes through it. Otherwise, and for a limit of 0 lines,
// the text comes back as it is, and false.
func SplitLimits(text string) (Limited, bool) {
	left := Limited{Command: text}
	trimmed := strings.Trim(text, blanks)
	bar := strings.LastIndexByte(trimmed, '|')
	if bar < 0 || len(trimmed) > MaxParse {
		return left, false
	}
	match := regexp.MustCompile(limitPipe).FindStringSubmatch(trimmed[bar:])
	if match == nil {
		return left, false
	}
	lines, err := strconv.ParseInt(match[2]+match[3], 10, 32)
	if err != nil || lines == 0 {
		return left, false
	}
	end, ok := producerEnd(trimmed, bar)
	if !ok {
		return left, false
	}
	taken := Limited{Command: trimmed[:end], Pipe: trimmed[end:]}
	if match[1] == "head" {
		taken.Head = int(lines)
	} else {
		taken.Tail = int(lines)
	}
	return taken, true
}

// Merge puts the limits that were asked for beside the command in place of those
// that were taken from it; nil is not asked for. It refuses, and the text has
// to be run as it came, where a head limit would be lifted: what ended by it may
// never end without.
func (l Limited) Merge(head, tail *int) (Limited, bool) {
	if head != nil {
		if l.Head > 0 && *head <= 0 {
			return Limited{}, false
		}
		l.Head = max(*head, 0)
	}
	if tail != nil {
		l.Tail = max(*tail, 0)
	}
	return l, true
}

// producerEnd is where the command in front of the last pipe ends, if that pipe
// stands at bar and may be taken away.
func producerEnd(text string, bar int) (int, bool) {
	script, err := Parse(text)
	if err != nil || script.Heredocs || len(script.File.Stmts) != 1 {
		return 0, false
	}
	stmt, ok := afterCd(script.File.Stmts[0])
	if !ok || !plain(stmt) {
		return 0, false
	}
	pipe, ok := stmt.Cmd.(*syntax.BinaryCmd)
	if !ok || pipe.Op != syntax.Pipe || int(pipe.OpPos.Offset()) != bar || !limiter(pipe.Y) {
		return 0, false
	}
	if changesShell(pipe.X) {
		return 0, false
	}
	end := int(pipe.X.End().Offset())
	if end > bar || strings.Trim(text[end:bar], blanks+"\\") != "" {
		return 0, false
	}
	return end, true
}

// plain says that nothing but a command is in a statement.
func plain(s *syntax.Stmt) bool {
	return !s.Negated && !s.Background && !s.Coprocess && !s.Disown && len(s.Redirs) == 0 && !s.Semicolon.IsValid()
}

// afterCd is what comes behind any `cd <dir> &&` in front, which prints nothing.
func afterCd(s *syntax.Stmt) (*syntax.Stmt, bool) {
	chain, ok := s.Cmd.(*syntax.BinaryCmd)
	if !ok || chain.Op != syntax.AndStmt {
		return s, true
	}
	if !plain(s) {
		return nil, false
	}
	for left := chain.X; ; {
		if more, ok := left.Cmd.(*syntax.BinaryCmd); ok && more.Op == syntax.AndStmt && plain(left) {
			if !changesDir(more.Y) {
				return nil, false
			}
			left = more.X
			continue
		}
		return chain.Y, changesDir(left)
	}
}

// changesDir says that a statement is `cd` to one directory.
func changesDir(s *syntax.Stmt) bool {
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || !plain(s) || len(call.Assigns) > 0 || len(call.Args) != 2 || call.Args[0].Lit() != "cd" {
		return false
	}
	dir, ok := Literal(call.Args[1])
	return ok && !strings.HasPrefix(dir, "-")
}

// limiter says that a statement is head or tail and its number, as they are
// written.
func limiter(s *syntax.Stmt) bool {
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || !plain(s) || len(call.Assigns) > 0 {
		return false
	}
	for _, word := range call.Args {
		if word.Lit() == "" {
			return false
		}
	}
	name := call.Args[0].Lit()
	return (name == "head" || name == "tail") && len(call.Args) <= 3
}

// ApplyLimits shows of a text the first head lines, then of these the last tail
// ones, each with the line end it has: what the pipes would have shown. 0 or less
// is no limit. The newline at the end of the text begins no line.
func ApplyLimits(text string, head, tail int) string {
	if head > 0 {
		text = firstLines(text, head)
	}
	if tail > 0 {
		text = lastLines(text, tail)
	}
	return text
}

func firstLines(text string, n int) string {
	mark := LineLimit{Lines: n}
	if end, ok := mark.Feed([]byte(text)); ok {
		return text[:end]
	}
	return text
}

func lastLines(text string, n int) string {
	from := len(strings.TrimSuffix(text, "\n"))
	for range n {
		if from = strings.LastIndexByte(text[:from], '\n'); from < 0 {
			return text
		}
	}
	return text[from+1:]
}
