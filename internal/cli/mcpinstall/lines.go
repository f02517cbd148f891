package mcpinstall

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// printLines prints the lines that differ between two texts: removed ones after "-", added
// ones after "+". An edit changes one place of a file.
func printLines(w io.Writer, before, after []byte) error {
	old, new := textLines(before), textLines(after)
	head := 0
	for head < min(len(old), len(new)) && old[head] == new[head] {
		head++
	}
	tail := 0
	for tail < min(len(old), len(new))-head && old[len(old)-1-tail] == new[len(new)-1-tail] {
		tail++
	}
	for _, part := range []struct {
		sign  string
		lines []string
	}{{"-", old[head : len(old)-tail]}, {"+", new[head : len(new)-tail]}} {
		for _, line := range part.lines {
			if _, err := fmt.Fprintf(w, "%s %s\n", part.sign, strings.TrimRight(line, "\r\n")); err != nil {
				return err
			}
		}
	}
	return nil
}

func textLines(text []byte) []string { return slices.Collect(strings.Lines(string(text))) }
