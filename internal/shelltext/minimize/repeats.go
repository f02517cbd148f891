package minimize

import (
	"fmt"
	"strings"
)

// again is from how many equal lines on they are counted and not shown.
const again = 4

// repeats says once what is said again and again.
func repeats(lines []string, _ run) ([]string, bool) {
	return fold(lines, func(line string) string { return line }, textAgain)
}

// bytesAgain does so where lines begin with an address.
func bytesAgain(lines []string, _ run) ([]string, bool) {
	return fold(lines, func(line string) string {
		_, data, _ := strings.Cut(line, " ")
		return data
	}, textSame)
}

// fold keeps the first of equal lines, and a note of how many follow. It knows any form of
// output, and says so only if there was something to fold.
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
