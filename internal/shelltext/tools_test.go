package shelltext

import (
	"slices"
	"testing"
)

func TestCommonToolsAreSorted(t *testing.T) {
	if !slices.IsSorted(commonTools) || len(slices.Compact(slices.Clone(commonTools))) != len(commonTools) {
		t.Error("they are found by halves: sort them")
	}
	dump := &shellDump{builtins: map[string]bool{"mapfile": true}}
	for _, name := range []string{"ll", "z", "nvm", "mise"} {
		if dump.protected(name) {
			t.Errorf("%s is the user's", name)
		}
	}
	for _, name := range []string{"cd", ".", ":", "[", "umask", "mapfile"} {
		if !dump.protected(name) {
			t.Errorf("%s is the shell's", name)
		}
	}
}
