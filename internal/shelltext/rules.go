package shelltext

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
)

// Rule blocks a command for which the host has a better tool.
type Rule struct {
	Pattern string // searched in the command, wherever it matches
	Flags   string // as of JavaScript: i, m and s change the search
	Tool    string // the tool that is suggested; without it the rule is void
	Message string // why, to the model
}

// DefaultSearchTool is what the rule for grep suggests if nothing else is set.
const DefaultSearchTool = "search"

// DefaultRules are the rules of a host that configures none, in their order;
// searchTool is its name for the tool that searches, "" for the default.
func DefaultRules(searchTool string) []Rule {
	if searchTool == "" {
		searchTool = DefaultSearchTool
	}
	return []Rule{
		{Pattern: `^\s*(cat|head|tail|less|more)\s+`, Tool: "read", Message: textUseRead},
		{Pattern: `^\s*(grep|rg|ripgrep|ag|ack)\s+`, Tool: searchTool, Message: fmt.Sprintf(textUseSearch, searchTool)},
		{Pattern: `^\s*(find|fd|locate)\s+.*(-name|-iname|-type|--type|-glob)`, Tool: "find", Message: textUseFind},
		{Pattern: `^\s*sed\s+(-i|--in-place)`, Tool: "edit", Message: textUseEdit},
		{Pattern: `^\s*perl\s+.*-[pn]?i`, Tool: "edit", Message: textUsePerl},
		{Pattern: `^\s*awk\s+.*-i\s+inplace`, Tool: "edit", Message: textUseAwk},
		{Pattern: `^\s*(echo|printf|cat\s*<<)\s+.*[^|]>\s*\S`, Tool: "write", Message: textUseWrite},
	}
}

// AsyncRules follow the default ones while the host's shell tool, "bash", can run
// a command asynchronously.
func AsyncRules() []Rule {
	return []Rule{
		{Pattern: `^\s*nohup\s+`, Tool: "bash", Message: textUseAsync},
		{Pattern: `[^&]&\s*$`, Tool: "bash", Message: textUseNoAmp},
	}
}

// Rules are rules made ready, in their order.
type Rules []rule

type rule struct {
	Rule
	search *regexp.Regexp
	most   int // the longest text that is searched, in bytes
	// builtIn says that it is one of the patterns above: what they are about is
	// known, so that the parse alone decides. Of another, its words do.
	builtIn bool
}

// maxSearch bounds what a rule costs, in bytes of a text times instructions of its pattern:
// a quarter of a second. Of any pattern that a person writes it is more than MaxParse.
const maxSearch = 50_000_000

// Instructions is how many instructions a pattern has: what its search costs at most for each
// byte of a text, at some nanoseconds each. It is 1 for a pattern that is none.
func Instructions(pattern string) int {
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 1
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return 1
	}
	return len(program.Inst)
}

// Compile makes rules ready. Those whose pattern or flags are not valid are left
// out; so are those that look behind or ahead, which the search does not know.
func Compile(rules []Rule) Rules {
	known := map[string]bool{}
	for _, r := range slices.Concat(DefaultRules(""), AsyncRules()) {
		known[r.Pattern] = true
	}
	var ready Rules
	for _, r := range rules {
		pattern, ok := flagged(r.Pattern, r.Flags)
		if !ok {
			continue
		}
		if search, err := regexp.Compile(pattern); err == nil {
			ready = append(ready, rule{Rule: r, search: search, most: maxSearch / Instructions(pattern), builtIn: r.Flags == "" && known[r.Pattern]})
		}
	}
	return ready
}

// flagged is a pattern with the flags of JavaScript in the way of Go. Those of the
// alphabet and of what a match returns mean nothing to a search.
func flagged(pattern, flags string) (string, bool) {
	var here strings.Builder
	for i, f := range flags {
		switch {
		case strings.ContainsRune(flags[:i], f):
			return "", false
		case strings.ContainsRune("ims", f):
			here.WriteRune(f)
		case f == 'y': // only where the text begins
			pattern = `\A(?:` + pattern + `)`
		case !strings.ContainsRune("dguv", f):
			return "", false
		}
	}
	if here.Len() > 0 {
		pattern = "(?" + here.String() + ")" + pattern
	}
	return pattern, true
}
