package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	if err := run("..", os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "mutants: "+err.Error())
		os.Exit(1)
	}
}

// run breaks a copy of the tree by each mutant in turn, and reports those that no test catches.
func run(root string, words []string) error {
	dir, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	tree := filepath.Join(dir, "tree")
	if said, err := exec.Command("git", "-C", root, "worktree", "add", "-q", "--detach", tree).CombinedOutput(); err != nil {
		return fmt.Errorf("the tree cannot be copied: %w\n%s", err, said)
	}
	defer func() { _ = exec.Command("git", "-C", root, "worktree", "remove", "--force", tree).Run() }()
	chosen := slices.DeleteFunc(slices.Clone(mutants), func(m mutant) bool {
		return len(words) > 0 && !slices.ContainsFunc(words, func(w string) bool { return strings.Contains(m.name, w) })
	})
	caught := 0
	for _, m := range chosen {
		by, err := m.live(tree)
		switch {
		case err != nil:
			fmt.Printf("error   %s: %v\n", m.name, err)
		case by == "":
			fmt.Printf("MISSED  %s: %s of %s pass\n", m.name, m.run, m.folder)
		default:
			caught++
			fmt.Printf("caught  %s: %s\n", m.name, by)
		}
	}
	fmt.Printf("mutants caught %d/%d\n", caught, len(chosen))
	if caught < len(chosen) {
		return fmt.Errorf("%d of %d were not caught", len(chosen)-caught, len(chosen))
	}
	return nil
}

// live breaks the tree, runs the tests, and mends it. It returns the first test that failed, "" if
// all pass. What does not compile is an error.
func (m mutant) live(tree string) (by string, err error) {
	path := filepath.Join(tree, m.file)
	whole, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	broken, err := m.broken(whole)
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(path, broken, 0o600); err != nil {
		return "", err
	}
	test := exec.Command("go", "test", "-count=1", "-vet=off", "-timeout=3m", "-run="+m.run, "./"+m.folder)
	test.Dir = tree
	said, terr := test.CombinedOutput()
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		return "", err
	}
	switch {
	case terr == nil && bytes.Contains(said, []byte("no tests to run")):
		return "", fmt.Errorf("no test is named %s", m.run)
	case terr == nil:
		return "", nil
	}
	return failed(said)
}

// broken returns the file with the change.
func (m mutant) broken(whole []byte) ([]byte, error) {
	if n := bytes.Count(whole, []byte(m.old)); n != 1 {
		return nil, fmt.Errorf("%s has its text %d times", m.file, n)
	}
	return bytes.Replace(whole, []byte(m.old), []byte(m.new), 1), nil
}

// failed returns the first test that failed, by an assertion, a panic or its time limit.
func failed(said []byte) (string, error) {
	for line := range strings.Lines(string(said)) {
		if name, is := strings.CutPrefix(strings.TrimSpace(line), "--- FAIL: "); is {
			return strings.Fields(name)[0], nil
		}
	}
	for _, sign := range []string{"panic: ", "fatal error: "} {
		if i := bytes.Index(said, []byte(sign)); i >= 0 {
			line, _, _ := bytes.Cut(said[i:], []byte("\n"))
			return string(line), nil
		}
	}
	return "", fmt.Errorf("the tests did not run:\n%s", said)
}
