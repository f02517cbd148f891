package minimize

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

var longLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([-dlcbps][-rwxsStT]{9}[.+@]?) +\d+ (\S+ +\S+) +(.*)$`)
})

// longListing removes link counts from ls -l, and the owner if all lines have the same.
func longListing(lines []string, c run) ([]string, bool) {
	if !c.hasLetter("l") || c.hasLetter("o") || c.hasLetter("g") || c.hasLetter("G") || c.has("--no-group") {
		return nil, false
	}
	owner, same := "", true
	for _, line := range lines {
		if found := longLine().FindStringSubmatch(line); found != nil {
			same = same && (owner == "" || owner == found[2])
			owner = found[2]
		}
	}
	if owner == "" {
		return nil, false
	}
	var kept []string
	for _, line := range lines {
		found := longLine().FindStringSubmatch(line)
		switch {
		case found == nil && strings.HasPrefix(line, "total "):
		case found == nil:
			kept = append(kept, line)
		case same:
			kept = append(kept, found[1]+" "+found[3])
		default:
			kept = append(kept, found[1]+" "+found[2]+" "+found[3])
		}
	}
	return kept, true
}

// otherForms lists the arguments that make find print something else than paths.
var otherForms = []string{"-printf", "-print0", "-ls", "-exec", "-execdir", "-ok", "-fprintf", "-fls", "-delete"}

// paths writes the files of each directory in one line. Directories keep the order of
// their first files.
func paths(lines []string, c run) ([]string, bool) {
	if c.has(otherForms...) {
		return nil, false
	}
	var dirs, others []string
	names := map[string][]string{}
	for _, line := range lines {
		dir, name := path.Split(line)
		if strings.HasPrefix(line, "find: ") || strings.Contains(line, ", ") || name == "" {
			others = append(others, line)
			continue
		}
		if names[dir] == nil {
			dirs = append(dirs, dir)
		}
		names[dir] = append(names[dir], name)
	}
	var kept []string
	for _, dir := range dirs {
		if files := names[dir]; len(files) == 1 || dir == "" {
			for _, name := range files {
				kept = append(kept, dir+name)
			}
			continue
		}
		kept = append(kept, fmt.Sprintf(textEntries, strings.TrimSuffix(dir, "/"), strings.Join(names[dir], ", ")))
	}
	return append(kept, others...), true
}

// maxMatch bounds a shown match, in characters. People write no longer lines.
const maxMatch = 400

var matchLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([^\x00:]+):(\d+):(.*)$`) })

// matches writes the path of a file once, above its matches, and cuts very long lines.
func matches(lines []string, c run) ([]string, bool) {
	numbers := c.hasLetter("n") || c.has("--line-number")
	var kept []string
	for i := 0; i < len(lines); {
		name, text, numbered := matched(lines[i])
		numbered = numbered && numbers
		j := i + 1
		for numbered && j < len(lines) {
			if next, _, ok := matched(lines[j]); !ok || next != name {
				break
			}
			j++
		}
		if j == i+1 {
			kept = append(kept, shortened(lines[i]))
			i = j
			continue
		}
		kept = append(kept, name+":", "  "+shortened(text))
		for _, line := range lines[i+1 : j] {
			_, text, _ = matched(line)
			kept = append(kept, "  "+shortened(text))
		}
		i = j
	}
	return kept, !slices.Equal(kept, lines)
}

// matched parses a line of the form path:number:text.
func matched(line string) (name, text string, ok bool) {
	found := matchLine().FindStringSubmatch(line)
	if found == nil {
		return "", "", false
	}
	return found[1], found[2] + ": " + found[3], true
}

func shortened(line string) string {
	if len(line) <= maxMatch {
		return line
	}
	runes := []rune(line)
	if len(runes) <= maxMatch {
		return line
	}
	return string(runes[:maxMatch]) + fmt.Sprintf(textLonger, len(runes)-maxMatch)
}
