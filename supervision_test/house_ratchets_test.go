package supervision_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var lower = flag.Bool("lower", false, "write testdata/ratchets.txt anew with the counts of today, where they have fallen")

const ratchetFile = "testdata/ratchets.txt"

// TestHouseRatchets holds each count of each folder at what it was: it may only fall, and what has fallen stays down.
func TestHouseRatchets(t *testing.T) {
	now := map[string]int{}
	for _, f := range houseTree(t, "..") {
		for _, c := range houseCensuses {
			if n := c.count(f); n > 0 {
				now[c.name+" "+shownFolder(f.folder)] += n
			}
		}
	}
	was := readRatchets(t)
	var lines []string
	for _, key := range slices.Sorted(maps.Keys(merged(now, was))) {
		switch {
		case now[key] > was[key] && len(was) > 0:
			t.Errorf("%s: %d, at most %d: docs/words.md and CONTRIBUTING.md say how it is written", key, now[key], was[key])
		case now[key] < was[key] && !*lower:
			t.Errorf("%s: %d, and %d are recorded: go test ./supervision_test -run TestHouseRatchets -lower", key, now[key], was[key])
		}
		if now[key] > 0 {
			lines = append(lines, fmt.Sprintf("%s %d\n", key, now[key]))
		}
	}
	if *lower && !t.Failed() {
		if err := os.WriteFile(ratchetFile, []byte(strings.Join(lines, "")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// shownFolder names the root, whose path is empty.
func shownFolder(folder string) string {
	if folder == "" {
		return "."
	}
	return folder
}

func merged(a, b map[string]int) map[string]int {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// readRatchets reads lines of "rule folder count".
func readRatchets(t *testing.T) map[string]int {
	t.Helper()
	text, err := os.ReadFile(ratchetFile)
	if err != nil && !*lower {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		n, err := strconv.Atoi(words[len(words)-1])
		if err != nil {
			t.Fatalf("%s: %q: %v", ratchetFile, line, err)
		}
		counts[strings.Join(words[:len(words)-1], " ")] = n
	}
	return counts
}

// TestHouseRatchetsBite shows that each count counts what it is there for, and nothing else.
func TestHouseRatchetsBite(t *testing.T) {
	for _, c := range []struct {
		rule, path, body string
		want             int
	}{
		{"words", "spill/x.go", "// x waits behind y, which nobody hears.\nvar x = \"no more is told\"", 4},
		{"words", "spill/x.go", "// x waits after y. It beholds.\nvar x = \"toldo\"", 0},
		{"words", "spill/x_test.go", "// x waits behind y.\nvar x int", 0},
		{"names", "spill/x.go", "type sinkEar struct { vain, early bool }\nfunc hushNow() {}", 3},
		{"names", "spill/ladder_linux.go", "func earn(year int) (start bool) { return }", 1},
		{"filenames", "spill/big_file_linux.go", "type bigFile int", 0},
		{"filenames", "spill/big_door.go", "type bigFile int", 1},
		{"filenames", "spill/errors.go", "type bigFile int", 0},
		{"verbs", "spill/x.go", "// f is what it gives.\nfunc f() {}\n\n// g gives what it is.\nfunc g() {}\n\n// t is a type.\ntype t int", 1},
		{"packages", "spill/x_linux.go", "", 1},
		{"packages", "spill/x_test.go", "", 0},
		{"packages", "spill/doc.go", "", 0},
	} {
		f, err := houseParse(c.path, "package spill\n"+c.body+"\n")
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(houseCensuses, func(k census) bool { return k.name == c.rule })
		if got := houseCensuses[i].count(f); got != c.want {
			t.Errorf("%s counts %d of:\n%s\nwant %d", c.rule, got, c.body, c.want)
		}
	}
	doc, err := houseParse("spill/doc.go", "// Package spill keeps logs.\n//\n//\tx.go   holds x\npackage spill\n")
	if err != nil {
		t.Fatal(err)
	}
	x := &houseFile{path: "spill/x_linux.go", maps: mapped(doc)}
	if got := unmappedFiles(x); got != 0 {
		t.Errorf("a file that doc.go maps counts %d", got)
	}
}
