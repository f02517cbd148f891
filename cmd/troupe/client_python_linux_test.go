package main

import (
	"os"
	"os/exec"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/test/need"
)

// The tests of clients/python run against this program, each class with daemons of its own.
func TestPythonClient(t *testing.T) {
	t.Parallel()
	python := need.Program(t, "python3")
	troupe, err := exec.LookPath("troupe")
	require.NoError(t, err)
	text, err := os.ReadFile("../../clients/python/test_troupe.py")
	require.NoError(t, err)
	classes := regexp.MustCompile(`(?m)^class (\w+Test)\(`).FindAllStringSubmatch(string(text), -1)
	require.NotEmpty(t, classes)
	for _, m := range classes {
		t.Run(m[1], func(t *testing.T) {
			t.Parallel()
			p := programFor(t, long)
			p.Path, p.Args, p.Dir = python, []string{"python3", "-m", "unittest", "-v", "test_troupe." + m[1]}, "../../clients/python"
			p.Env = append(p.Env, "TROUPE_PROGRAM="+troupe, "PYTHONDONTWRITEBYTECODE=1")
			p.start().ends(0)
			require.Regexp(t, `(?m)^Ran [1-9]\d* tests? in .*\n\nOK\n`, p.err.String())
		})
	}
}
