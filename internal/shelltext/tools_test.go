package shelltext

import (
	"slices"
	"testing"
)

func TestCommonToolsAreSorted(t *testing.T) {
	if !slices.IsSorted(commonTools) || len(slices.Compact(slices.Clone(commonTools))) != len(commonTools) {
		t.Error("they are found by halves: sort them")
	}
	for _, name := range []string{"cd", "ll", "z", "nvm", "mise"} {
		if commonTool(name) {
			t.Errorf("%s is the user's", name)
		}
	}
}
