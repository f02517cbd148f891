package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/messages"
)

// Of several flags that show nothing the same one is told each time.
func TestLogsTellsTheFirstFault(t *testing.T) {
	t.Parallel()
	for range 100 {
		f := &logFlags{}
		err := f.check(func(flag string) bool { return flag == "lines" || flag == "limit" || flag == "head" }, false)
		require.ErrorIs(t, err, &messages.Error{Code: messages.InvalidParams, Reason: "lines"})
	}
}

// So is of several settings that cannot be.
func TestSettingsTellTheFirstFault(t *testing.T) {
	t.Parallel()
	for range 100 {
		c := &settingsChecker{}
		c.omp(&ompSettings{Skills: []string{"a"}, Agents: []string{"b"}, Plans: []string{"c"}, Memories: []string{"d"}})
		require.ErrorContains(t, c.err, "omp.skills")
	}
}
