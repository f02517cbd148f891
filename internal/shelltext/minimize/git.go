package minimize

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// lockFiles are written and read by programs.
var lockFiles = []string{
	"package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock", "Cargo.lock", "go.sum",
	"poetry.lock", "uv.lock", "Pipfile.lock", "Gemfile.lock", "composer.lock", "flake.lock", "packages.lock.json",
}

// diff removes hashes and changes in lock files from a diff.
func diff(lines []string, _ run) ([]string, bool) {
	if !slices.ContainsFunc(lines, isDiffHead) {
		return nil, false
	}
	return withoutLocks(lines), true
}

func isDiffHead(line string) bool { return strings.HasPrefix(line, "diff --git ") }

var blobs = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^index [0-9a-f]{4,64}(,[0-9a-f]+)*\.\.[0-9a-f]{4,64}( \d{6})?$`)
})

func withoutLocks(lines []string) []string {
	var kept []string
	inHead, inLock := false, false
	var added, removed int
	flush := func() {
		if inLock && added+removed > 0 {
			kept = append(kept, fmt.Sprintf(textLocked, added, removed))
		}
		inLock, added, removed = false, 0, 0
	}
	for _, line := range lines {
		switch {
		case isDiffHead(line):
			flush()
			inHead, inLock = true, slices.Contains(lockFiles, path.Base(line))
		case strings.HasPrefix(line, "commit ") && commitLine().MatchString(line):
			flush()
			inHead = false
		case inHead && blobs().MatchString(line):
			continue
		case strings.HasPrefix(line, "@@ "):
			inHead = false
		}
		switch {
		case !inLock || inHead:
			kept = append(kept, line)
		case strings.HasPrefix(line, "+"):
			added++
		case strings.HasPrefix(line, "-"):
			removed++
		}
	}
	flush()
	return kept
}

var commitLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^commit ([0-9a-f]{12})[0-9a-f]*( \(.*\))?$`) })

// maxHead bounds the lines of a commit's head that are joined. git log has two; a file
// in git show may have many similar lines.
const maxHead = 4

// gitHistory joins the head of each commit into one line, and filters its diff as diff
// does.
func gitHistory(lines []string, c run) ([]string, bool) {
	if c.has("--graph") || !slices.ContainsFunc(lines, commitLine().MatchString) {
		return diff(lines, c)
	}
	var kept []string
	inHead, inMessage := false, false
	joined := 0
	for _, line := range lines {
		found := commitLine().FindStringSubmatch(line)
		switch {
		case found != nil:
			kept = append(kept, "commit "+found[1]+found[2])
			inHead, inMessage = true, false
			joined = 0
		case inHead && joined < maxHead && (strings.HasPrefix(line, "Author: ") || strings.HasPrefix(line, "Date: ")):
			joined++
			_, value, _ := strings.Cut(line, ":")
			kept[len(kept)-1] += ", " + strings.TrimSpace(value)
		case inHead && line == "":
			inHead, inMessage = false, true
		case inMessage && strings.TrimSpace(line) == "":
		default:
			kept = append(kept, line)
			inMessage = inMessage && strings.HasPrefix(line, "    ")
		}
	}
	return withoutLocks(kept), true
}
