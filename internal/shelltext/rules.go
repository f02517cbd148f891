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
	Pattern string // searched anywhere in the command
	Flags   string // JavaScript flags; i, m and s change the search
	Tool    string // suggested tool; a rule without one never applies
	Message string // reason for the model
}

// DefaultSearchTool is the tool that the rule for grep suggests by default.
const DefaultSearchTool = "search"

// DefaultRules returns the rules of a host that configures none. searchTool names its
// search tool; "" means DefaultSearchTool.
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

// AsyncRules returns the rules that follow the default ones if the host's tool "bash"
// can run commands asynchronously.
func AsyncRules() []Rule {
	return []Rule{
		{Pattern: `^\s*nohup\s+`, Tool: "bash", Message: textUseAsync},
		{Pattern: `[^&]&\s*$`, Tool: "bash", Message: textUseNoAmp},
	}
}

// Rules holds compiled rules in order.
type Rules []rule

type rule struct {
	Rule
	search *regexp.Regexp
	most   int // longest text that is searched, in bytes
	// builtIn marks the patterns above: they are matched against parsed commands alone,
	// other patterns against the text too.
	builtIn bool
}

// maxSearch bounds the cost of a rule: bytes of text times instructions of the pattern,
// a quarter of a second. For any pattern that a person writes it allows more than
// MaxParse.
const maxSearch = 50_000_000

// Instructions returns the number of instructions of a pattern, a bound for its cost
// per byte of text. One takes some nanoseconds. An invalid pattern has 1.
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

// Compile compiles rules. It leaves out rules with an invalid pattern or flags,
// including lookahead and lookbehind, which Go does not support.
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

// flagged translates a pattern with JavaScript flags to Go syntax. Flags for the
// alphabet and the result of a match do not affect a search.
func flagged(pattern, flags string) (string, bool) {
	var here strings.Builder
	for i, f := range flags {
		switch {
		case strings.ContainsRune(flags[:i], f):
			return "", false
		case strings.ContainsRune("ims", f):
			here.WriteRune(f)
		case f == 'y': // only at the beginning of the text
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
