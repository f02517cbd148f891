package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"troupe/internal/cli"
)

// A stranger finds a verb by the name of its file: the files are the verbs that
// the help lists and the hidden ones, and completion offers those of the help.
func TestEachVerbHasAFile(t *testing.T) {
	files := verbFiles(t)
	listed, hidden := []string{"help"}, []string{}
	for _, cmd := range verb(t, "").Commands() {
		name := cmd.Name()
		switch {
		case cmd.Hidden:
			hidden = append(hidden, name)
		case name != "help":
			listed = append(listed, name)
		}
	}
	compareNames(t, "the verbs", append(slices.Clone(listed), hidden...), "the files of cmd/troupe", files)
	compareNames(t, "the verbs that are not hidden", listed, "the help", firstWords(verbList(t)))
	offered := slices.DeleteFunc(firstWords(printed(t, "__complete", "")), func(name string) bool { return strings.HasPrefix(name, ":") })
	compareNames(t, "the verbs that are not hidden", listed, "completion", offered)
}

// verbList gives the lines of the help that list verbs, in all groups.
func verbList(t *testing.T) string {
	t.Helper()
	_, list, found := strings.Cut(printed(t, "--help"), "\nBegin with:\n")
	list, _, ends := strings.Cut(list, "\nExamples:\n")
	if !found || !ends || !strings.HasPrefix(list, "  run ") {
		t.Fatal("there is no list of verbs")
	}
	return strings.Join(slices.DeleteFunc(slices.Collect(strings.Lines(list)), func(line string) bool { return !strings.HasPrefix(line, "  ") }), "")
}

// verbFiles gives the verbs after which the files of this folder are named.
func verbFiles(t *testing.T) (names []string) {
	t.Helper()
	all, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range all {
		name := strings.TrimSuffix(file, ".go")
		if !strings.HasSuffix(name, "_test") && name != "main" && name != "doc" {
			names = append(names, strings.ReplaceAll(name, "_", "-"))
		}
	}
	return names
}

// firstWords gives the first word of each line.
func firstWords(text string) (words []string) {
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) > 0 {
			words = append(words, fields[0])
		}
	}
	return words
}

// compareNames reports the names that one of two lists lacks.
func compareNames(t *testing.T, of string, names []string, in string, found []string) {
	t.Helper()
	for _, name := range names {
		if !slices.Contains(found, name) {
			t.Errorf("%s: %s lacks %s", of, in, name)
		}
	}
	for _, name := range found {
		if !slices.Contains(names, name) {
			t.Errorf("%s: %s has %s, which is none", of, in, name)
		}
	}
}

// A verb that is built alone is the one that the list of all verbs has.
func TestEachVerbIsBuiltAlone(t *testing.T) {
	m := &cli.Main{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
	for _, listed := range newRoot(m, nil).Commands() {
		alone := newRoot(m, []string{listed.Name()}).Commands()
		if len(alone) != 1 || alone[0].Name() != listed.Name() || alone[0].GroupID != listed.GroupID {
			t.Errorf("%s is built as %v", listed.Name(), alone)
		}
	}
}
