package minimize

import (
	"fmt"
	"strings"
)

// again is the number of equal lines from which they are counted instead of shown.
const again = 4

// repeats replaces repeated lines by one and a count.
func repeats(lines []string, _ run) ([]string, bool) {
	return fold(lines, func(line string) string { return line }, textAgain)
}

// bytesAgain does the same for lines that begin with an address.
func bytesAgain(lines []string, _ run) ([]string, bool) {
	return fold(lines, func(line string) string {
		_, data, _ := strings.Cut(line, " ")
		return data
	}, textSame)
}

// fold keeps the first of at least again equal lines and a note with the count of the
// others. It returns false if nothing was folded.
func fold(lines []string, of func(string) string, note string) ([]string, bool) {
	var kept []string
	folded := false
	for i := 0; i < len(lines); {
		j := i + 1
		for j < len(lines) && of(lines[j]) == of(lines[i]) {
			j++
		}
		if j-i >= again && of(lines[i]) != "" {
			kept = append(kept, lines[i], fmt.Sprintf(note, j-i-1))
			folded = true
		} else {
			kept = append(kept, lines[i:j]...)
		}
		i = j
	}
	return kept, folded
}
