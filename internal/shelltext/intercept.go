package shelltext

import (
	"fmt"
	"slices"
	"strings"
)

// Block is a command that is not run, since a tool of the host does it better.
type Block struct {
	SuggestedTool string
	Message       string // of the rule
	Command       string // the variant that matched
}

// Text is what the model is told.
func (b Block) Text() string { return fmt.Sprintf(textBlocked, b.Message, b.Command) }

// Intercept judges a command as it was asked for and as it will be run (the same,
// or without its leading cd) by the first rule that matches and whose tool is
// one of tools. It is advice to a model, not a wall: what a variable, `eval`,
// `xargs` or `env` runs is not seen.
//
// A rule of the default ones is searched for in each simple command that reads
// no pipe, in substitutions, functions, conditions, subshells and literal
// `bash -c` too, without quotes, and a quoted `>` is no redirection. Another rule
// is searched for in the text as well. A text that is no bash is judged by its
// words alone; one above MaxParse is not judged.
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
