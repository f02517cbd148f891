package shelltext

import (
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// StateChange is what a text may change in the bash that runs it, except its directory.
type StateChange int

// Values in ascending order: Anything includes Variables.
const (
	NoChange  StateChange = iota // the next command finds the same state
	Variables                    // variables, positional parameters and descriptors
	Anything                     // functions, aliases, traps and options as well
)

// fileChange returns what a parsed text may change in the bash that runs it. It holds for a
// shell with only its initial functions, aliases and traps, in which no text that may
// change Anything ran before; otherwise any word may do anything. Unknown constructs are
// Anything.
func fileChange(file *syntax.File) StateChange {
	worst := NoChange
	syntax.Walk(file, func(node syntax.Node) bool {
		if node == nil || worst == Anything {
			return false
		}
		change, inside := nodeChange(node)
		worst = max(worst, change)
		return inside
	})
	return worst
}

// nodeChange returns the change by one node, and whether to examine the nodes inside. A
// subshell changes only a copy of the shell.
func nodeChange(node syntax.Node) (change StateChange, inside bool) {
	switch n := node.(type) {
	case *syntax.Subshell, *syntax.ProcSubst:
		return NoChange, false
	case *syntax.CmdSubst:
		if n.TempFile || n.ReplyVar { // they run in the shell itself (bash 5.3)
			return Anything, false
		}
		return NoChange, false
	case *syntax.Stmt:
		return NoChange, !n.Background
	case *syntax.BinaryCmd:
		return NoChange, n.Op != syntax.Pipe && n.Op != syntax.PipeAll
	case *syntax.CallExpr:
		return callChange(n), true
	case *syntax.DeclClause:
		if name := n.Variant.Value; name != "export" && name != "readonly" { // with a nameref, other commands change variables they do not name
			return Anything, false
		}
		return Variables, true
	case *syntax.FuncDecl, *syntax.CoprocClause, *syntax.TestDecl:
		return Anything, false
	case *syntax.ForClause, *syntax.ArithmExp, *syntax.ArithmCmd, *syntax.LetClause:
		return Variables, true
	case *syntax.Assign:
		return assignChange(n), true
	case *syntax.Redirect:
		return onlyIf(n.N != nil && strings.HasPrefix(n.N.Value, "{"), Variables), true
	case *syntax.ParamExp:
		assigns := n.Exp != nil && (n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull || n.Exp.Op == syntax.OtherParamOps)
		return onlyIf(assigns || n.Excl || n.Index != nil || n.Slice != nil, Variables), true
	case *syntax.BinaryTest:
		return onlyIf(!comparesTexts(n.Op), Variables), true
	case *syntax.UnaryTest:
		return onlyIf(n.Op == syntax.TsVarSet || n.Op == syntax.TsRefVar, Variables), true
	case *syntax.File, *syntax.Comment, *syntax.Block, *syntax.IfClause, *syntax.WhileClause, *syntax.WordIter, *syntax.CStyleLoop,
		*syntax.Word, *syntax.Lit, *syntax.SglQuoted, *syntax.DblQuoted, *syntax.BinaryArithm, *syntax.UnaryArithm, *syntax.ParenArithm,
		*syntax.CaseClause, *syntax.CaseItem, *syntax.TestClause, *syntax.ParenTest, *syntax.ArrayExpr, *syntax.ArrayElem, *syntax.ExtGlob,
		*syntax.TimeClause, *syntax.BraceExp:
		return NoChange, true
	}
	return Anything, false // node of a newer parser
}

func onlyIf(is bool, change StateChange) StateChange {
	if is {
		return change
	}
	return NoChange
}

// comparesTexts reports whether an operator of [[ takes its words literally. Others
// take them as arithmetic, which may assign.
func comparesTexts(op syntax.BinTestOperator) bool {
	switch op {
	case syntax.TsMatchShort, syntax.TsMatch, syntax.TsNoMatch, syntax.TsReMatch, syntax.TsBefore, syntax.TsAfter,
		syntax.TsNewer, syntax.TsOlder, syntax.TsDevIno, syntax.AndTest, syntax.OrTest:
		return true
	}
	return false
}

// assignChange returns the further change by an assignment: a subscript is arithmetic,
// and some variables are special.
func assignChange(a *syntax.Assign) StateChange {
	if a.Name != nil && (a.Name.Value == "BASH_ALIASES" || a.Name.Value == "PS4") { // set -x expands PS4
		return Anything
	}
	return onlyIf(a.Index != nil, Variables)
}

// callChange returns the change by a simple command. Its assignments belong to the
// program, but stay for a builtin in POSIX mode.
func callChange(call *syntax.CallExpr) StateChange {
	if len(call.Args) == 0 {
		return Variables
	}
	words := withoutBuiltin(call.Args)
	name, ok := Literal(words[0])
	pattern := strings.ContainsAny(name, "*?[{}%") && name != "["
	if !ok || name == "" || pattern || strings.HasPrefix(name, "~") && !strings.HasPrefix(name, "~/") {
		return Anything
	}
	change, builtin := builtins()[name]
	if !builtin {
		return NoChange // a program
	}
	change = max(change, onlyIf(len(call.Assigns) > 0, Variables))
	switch name {
	case "set":
		change = max(change, onlyIf(!setsUsual(words[1:]), Anything))
	case "test", "[":
		change = max(change, onlyIf(!testsPlainly(words[1:]), Variables))
	case "printf", "wait": // both have an option that names a variable
		if len(words) > 1 {
			first, ok := Literal(words[1])
			change = max(change, onlyIf(!ok || strings.HasPrefix(first, "-"), Variables))
		}
	}
	return change
}

// setsUsual reports whether a set changes only options that make the shell exit earlier
// or print more.
func setsUsual(words []*syntax.Word) bool {
	for _, word := range words {
		text, ok := Literal(word)
		switch text {
		case "pipefail", "errexit", "nounset", "xtrace":
			continue
		}
		if !ok || len(text) < 2 || !strings.ContainsRune("-+", rune(text[0])) || strings.Trim(strings.TrimSuffix(text[1:], "o"), "eux") != "" {
			return false
		}
	}
	return true
}

// testsPlainly reports whether a test takes no word as the name of a variable, which
// may have a subscript.
func testsPlainly(words []*syntax.Word) bool {
	for i, word := range words {
		text, ok := Literal(word)
		_, quoted := word.Parts[0].(*syntax.DblQuoted)
		switch {
		case text == "-v", text == "-R":
			return false
		case !ok && (!quoted || len(word.Parts) > 1): // it may be several words
			return false
		case !ok && i+1 < len(words) && !isOperator(words[i+1]): // it may be -v
			return false
		}
	}
	return true
}

// isOperator reports whether a word of a test can follow an operand.
func isOperator(word *syntax.Word) bool {
	text, ok := Literal(word)
	return ok && (text == "]" || text == ")" || strings.HasPrefix(text, "=") || strings.HasPrefix(text, "!=") || strings.HasPrefix(text, "-"))
}

// builtins maps the builtins of bash to what they may change. Other names are programs.
var builtins = sync.OnceValue(func() map[string]StateChange {
	all := map[string]StateChange{}
	for _, name := range strings.Fields(": [ bg break caller cd continue dirs disown echo exit false fg hash help kill logout printf pwd return suspend test times true type ulimit umask wait") {
		all[name] = NoChange
	}
	for _, name := range strings.Fields("export getopts let local mapfile popd pushd read readarray readonly set shift unset") {
		all[name] = Variables
	}
	for _, name := range strings.Fields(". alias bind builtin command compgen complete compopt declare enable eval exec fc history jobs shopt source trap typeset unalias") {
		all[name] = Anything
	}
	return all
})
