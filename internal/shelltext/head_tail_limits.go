package shelltext

import (
	"regexp"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Limited is a command without its trailing `| head -N` or `| tail -N`.
//
// A head limit ended the producer with SIGPIPE. Without the pipe, the caller must end
// the command after Head lines (see LineLimit) and count that as exit 0. In a live
// shell nothing can be closed, so a head limit should stay in the command.
type Limited struct {
	Command    string // command to run
	Pipe       string // removed part: Command+Pipe is the text without outer blanks
	Head, Tail int    // lines; 0: no limit
}

// limitPipe matches a removable pipe. Patterns here are compiled when used, so that
// other programs do not pay for them.
const limitPipe = `^\|\s*(head|tail)\s+(?:-n\s*(\d+)|-(\d+))$`

const blanks = " \t\r\n"

// SplitLimits removes one trailing limit from a command. The parser must prove that the
// pipe ends the text and gets the whole output, so that only the place of counting
// changes. Otherwise, and for 0 lines, it returns the text unchanged and false.
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

// Merge replaces the removed limits with those requested beside the command; nil means
// not requested. It returns false if it would lift a head limit, since the command may
// never end without it. The caller must then run the original text.
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

// producerEnd returns where the command before the pipe at bar ends, if that pipe is
// the last one and may be removed.
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

// plain reports whether a statement consists of a command alone.
func plain(s *syntax.Stmt) bool {
	return !s.Negated && !s.Background && !s.Coprocess && !s.Disown && len(s.Redirs) == 0 && !s.Semicolon.IsValid()
}

// afterCd returns the statement after all leading `cd <dir> &&`, which print nothing.
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

// changesDir reports whether a statement is `cd` to one directory.
func changesDir(s *syntax.Stmt) bool {
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || !plain(s) || len(call.Assigns) > 0 || len(call.Args) != 2 || call.Args[0].Lit() != "cd" {
		return false
	}
	dir, ok := Literal(call.Args[1])
	return ok && !strings.HasPrefix(dir, "-")
}

// limiter reports whether a statement is head or tail with literal arguments.
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

// ApplyLimits returns the first head lines of text, and of these the last tail lines,
// as the pipes would. 0 or less means no limit. A final newline begins no line.
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
