package shelltext

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// hiddenExpansion returns the source of the first expansion that hides what it runs.
// `${v@P}` runs the content of the value; `${!v}` has a value for a name. The names and
// keys of `${!v*}` and `${!v[@]}` are harmless.
func (s *Script) hiddenExpansion() string {
	found := ""
	syntax.Walk(s.File, func(node syntax.Node) bool {
		exp, ok := node.(*syntax.ParamExp)
		if found == "" && ok && (transformsPrompt(exp) || indirect(exp)) {
			found = s.Source(exp)
		}
		return found == ""
	})
	return found
}

func transformsPrompt(exp *syntax.ParamExp) bool {
	return exp.Exp != nil && exp.Exp.Op == syntax.OtherParamOps && exp.Exp.Word != nil && exp.Exp.Word.Lit() == "P"
}

func indirect(exp *syntax.ParamExp) bool {
	if !exp.Excl || exp.Names != 0 {
		return false
	}
	if key, ok := exp.Index.(*syntax.Word); ok && exp.Exp == nil {
		return key.Lit() != "@" && key.Lit() != "*"
	}
	return true
}

// builtCommand returns the source of a word that builds the command from nested
// substitutions. The word is the command's name, or the text for a shell. A built
// directory before a literal name is allowed.
func (s *Script) builtCommand(c Command) string {
	words := withoutWrappers(c.Words)
	if len(words) == 0 {
		return ""
	}
	for i, w := range words {
		if i > 0 && !isShell(baseName(words)) && baseName(words) != "eval" {
			break
		}
		if !w.Literal && w.Node != nil && nested(w.Node) && !namedAtTheEnd(w.Node) {
			return w.Text
		}
	}
	return ""
}

// nested reports whether a command substitution is inside another, or inside the
// expansion of a variable.
func nested(word *syntax.Word) bool {
	found, depth := false, 0
	var open []bool
	syntax.Walk(word, func(node syntax.Node) bool {
		if node == nil {
			if open[len(open)-1] {
				depth--
			}
			open = open[:len(open)-1]
			return true
		}
		counts := false
		switch n := node.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst:
			counts = true
			found = found || depth > 0
		case *syntax.ParamExp:
			counts = !n.Short
		}
		if counts {
			depth++
		}
		open = append(open, counts)
		return true
	})
	return found
}

// namedAtTheEnd reports whether a word ends in a literal `/name`, quoted or not.
func namedAtTheEnd(word *syntax.Word) bool {
	last := word.Parts[len(word.Parts)-1]
	if quoted, ok := last.(*syntax.DblQuoted); ok && len(quoted.Parts) > 0 {
		last = quoted.Parts[len(quoted.Parts)-1]
	}
	lit, ok := last.(*syntax.Lit)
	return ok && strings.Contains(lit.Value, "/") && !strings.HasSuffix(lit.Value, "/")
}
