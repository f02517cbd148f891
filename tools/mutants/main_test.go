package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Each mutant changes one place of the tree as it is, and docs/faults.md has its name.
func TestMutantsFit(t *testing.T) {
	page, err := os.ReadFile("../../docs/faults.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mutants {
		whole, err := os.ReadFile(filepath.Join("../..", m.file))
		if err != nil {
			t.Error(err)
			continue
		}
		if _, err := m.broken(whole); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
		if !strings.Contains(string(page), "| "+m.name+" |") {
			t.Errorf("docs/faults.md does not have %q", m.name)
		}
	}
	if len(mutants) < 20 {
		t.Errorf("there are %d mutants", len(mutants))
	}
}

func TestWhoCaughtIt(t *testing.T) {
	for said, by := range map[string]string{
		"ok\n--- FAIL: TestA (0.1s)\n    --- FAIL: TestA/b (0s)\n": "TestA", "panic: test timed out after 3m\nx\n": "panic: test timed out after 3m",
	} {
		if got, err := failed([]byte(said)); err != nil || got != by {
			t.Errorf("%q, %v", got, err)
		}
	}
	if _, err := failed([]byte("x.go:1: undefined: y\nFAIL\ttroupe [build failed]\n")); err == nil {
		t.Error("what does not compile is caught")
	}
}
