package messages_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/messages"
)

// An entry comes back in one form, whatever form it was written in.
func TestRlimitsAreParsed(t *testing.T) {
	for text, want := range map[string]string{
		"nofile=77": "nofile=77:77", "nofile=1:2": "nofile=1:2", "nofile=:9": "nofile=:9", "nofile=9:": "nofile=9:",
		"core=0:unlimited": "core=0:unlimited", "as=unlimited": "as=unlimited:unlimited", "cpu=18446744073709551615": "cpu=unlimited:unlimited",
	} {
		r, ok := messages.ParseRlimit(text)
		require.True(t, ok, text)
		require.Equal(t, want, r.String(), text)
	}
	for _, text := range []string{"", "nofile", "nofile=", "nofile=:", "=1", "files=1", "nofile=2:1", "nofile=unlimited:1", "nofile=-1", "nofile=1k", "nofile=1:2:3", "nofile=18446744073709551616"} {
		_, ok := messages.ParseRlimit(text)
		require.False(t, ok, text)
	}
}

func TestCPUsAreParsed(t *testing.T) {
	for text, want := range map[string][]int{"0": {0}, "0-2,7": {0, 1, 2, 7}, "1023": {1023}} {
		cpus, ok := messages.ParseCPUs(text)
		require.True(t, ok, text)
		require.Equal(t, want, cpus, text)
	}
	for _, text := range []string{"", "a", "2-1", "1024", "0-", "-1", "0,,1", "0-1023,0-1023,0"} {
		_, ok := messages.ParseCPUs(text)
		require.False(t, ok, text)
	}
}

// Limits that mean nothing are refused with their name, in a run and in the plan of a session.
// A command in a live shell has those of the shell.
func TestBadInputLimits(t *testing.T) {
	text, zeros := messages.Program{Text: "true"}, strings.Repeat("0", 4096)
	for says, l := range map[string]messages.Limits{
		`invalid limit "files=1"`:                                                 {Rlimits: []string{"nofile=1", "files=1"}},
		`invalid limit "nofile=2"`:                                                {Rlimits: []string{"nofile=1", "nofile=2"}},
		"invalid nice value 20":                                                   {Nice: 20},
		"invalid nice value -21":                                                  {Nice: -21},
		`invalid list of CPUs "0-"`:                                               {CPUs: "0-"},
		`invalid list of CPUs "0-99999"`:                                          {CPUs: "0-99999"},
		`invalid limit "nofile=` + zeros[:57] + `"`:                               {Rlimits: []string{"nofile=" + zeros[:64] + "1"}},
		`invalid rlimits from "x=1" on: 65 entries, at most 64`:                   {Rlimits: slices.Repeat([]string{"x=1"}, 65)},
		`invalid list of CPUs "` + zeros[:64] + `": 4097 bytes, at most 4096 are`: {CPUs: zeros[:4096] + "1"},
	} {
		for _, err := range []*messages.Error{
			messages.RunCommand{Program: text, ProcAttr: messages.ProcAttr{Limits: l}}.Check(),
			messages.OpenSession{Session: "s", SessionPlan: messages.SessionPlan{Backend: messages.BackendShell, Limits: l}}.Check(),
		} {
			require.NotNil(t, err, says)
			require.Equal(t, []string{"invalid_params", "limits"}, []string{string(err.Code), err.Reason})
			require.Contains(t, err.Message, says)
		}
	}
	var every []string
	for n := range messages.MaxCPUs {
		every = append(every, strconv.Itoa(n))
	}
	good := messages.Limits{Rlimits: []string{"nofile=77", "core=0:unlimited", "cpu=18446744073709551615:18446744073709551615"}, Nice: 19, CPUs: strings.Join(every, ",")}
	plan := &messages.SessionPlan{Backend: messages.BackendShell, Limits: good}
	require.Nil(t, messages.RunCommand{Program: text, ProcAttr: messages.ProcAttr{Limits: good}}.Check())
	require.Nil(t, messages.RunCommand{Program: text, Session: "s", Open: plan}.Check())
	err := messages.RunCommand{Program: text, Session: "s", Open: plan, ProcAttr: messages.ProcAttr{Limits: good}}.Check()
	require.NotNil(t, err)
	require.Equal(t, []string{"unsupported", "limits"}, []string{string(err.Code), err.Reason})
}

// The signal of a stop is one that the kernel knows. A stop in a live shell begins with INT.
func TestBadInputStopSignal(t *testing.T) {
	for name, good := range map[string]bool{"": true, "INT": true, "SIGINT": true, "int": true, "2": true, "64": true, "NOPE": false, "0": false, "65": false, "-2": false, "SIG": false, " INT": false, "0000000000000002": true, "00000000000000002": false} {
		r := messages.RunCommand{Program: messages.Program{Text: "true"}, ProcAttr: messages.ProcAttr{StopSignal: name}}
		err := r.Check()
		require.Equal(t, good, err == nil, name)
		if !good {
			require.Equal(t, []string{"invalid_params", "stop_signal"}, []string{string(err.Code), err.Reason})
			require.Contains(t, err.Message, "invalid signal")
		}
	}
	err := messages.RunCommand{
		Program: messages.Program{Text: "true"}, Session: "s", Open: &messages.SessionPlan{}, ProcAttr: messages.ProcAttr{StopSignal: "INT"},
	}.Check()
	require.NotNil(t, err)
	require.Equal(t, []string{"unsupported", "stop_signal"}, []string{string(err.Code), err.Reason})
}
