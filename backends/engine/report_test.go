package engine

import (
	"reflect"
	"testing"
)

// What a shell reports before the status of a command is passed over by an engine that does
// not know it, and taken by this one if it says something.
func TestReportsBeforeTheStatus(t *testing.T) {
	for text, want := range map[string]report{
		"0123456789abcdef errexit ":        {about: "0123456789abcdef", errexit: true},
		"0123456789abcdef pipe 1 0":        {about: "0123456789abcdef", pipe: []int{1, 0}},
		"0123456789abcdef pipe 0 141 3 0":  {about: "0123456789abcdef", pipe: []int{0, 141, 3, 0}},
		"0123456789abcdef pipe 1":          {},
		"0123456789abcdef pipe 0 1":        {},
		"0123456789abcdef pipe 256 0":      {},
		"0123456789abcdef pipe -1 0":       {},
		"0123456789abcdef pipe x 0":        {},
		"0123456789abcdef pipe ":           {},
		"0123456789abcdef 3 /d":            {about: "0123456789abcdef", status: 3, cwd: "/d"},
		"0123456789abcdef run /d":          {about: "0123456789abcdef", runs: true, cwd: "/d"},
		"0123456789abcdef whatever /tmp/x": {},
	} {
		got, ok := parseReport([]byte(text), false)
		if ok != (want.about != "") || ok && !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, %v; want %+v", text, got, ok, want)
		}
	}
	if _, ok := parseReport([]byte("0123456789abcdef pipe 1 0"), true); ok {
		t.Error("a cut list of statuses counts")
	}
}
