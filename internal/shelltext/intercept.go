package shelltext

import (
	"fmt"
	"slices"
	"strings"
)

// Block is a command that does not run because the host has a better tool for it.
type Block struct {
	SuggestedTool string
	Message       string // message of the rule
	Command       string // variant that matched
}

// Text returns the message for the model.
func (b Block) Text() string { return fmt.Sprintf(textBlocked, b.Message, b.Command) }

// Intercept checks a command by the first rule that matches and whose tool is in tools.
// original is the requested command, text the one to run, perhaps without a leading cd.
// The check is advice to a model, not a barrier: it does not see what a variable,
// `eval`, `xargs` or `env` runs.
//
// A default rule is matched against each simple command that reads no pipe, including
// those in substitutions, functions, conditions, subshells and literal `bash -c`.
// Quotes are removed, and a quoted `>` is not a redirection. Other rules are also
// matched against the whole text. A text that is not bash is checked by its words
// alone; one longer than MaxParse is not checked.
func Intercept(text, original string, rules Rules, tools []string) (Block, bool) {
	variants := []string{original, text}
	if original == text || original == "" {
		variants = variants[1:]
	}
	for _, variant := range variants {
		if len(variant) > MaxParse {
			continue
		}
		view := look(strings.Trim(variant, blanks))
		for _, r := range rules {
			if slices.Contains(tools, r.Tool) && view.matches(r) {
				return Block{SuggestedTool: r.Tool, Message: r.Message, Command: variant}, true
			}
		}
	}
	return Block{}, false
}
