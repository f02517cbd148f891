package minimize

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestBuiltinFiltersAreGood(t *testing.T) {
	matched := map[string]bool{}
	for _, program := range slices.Sorted(maps.Keys(families())) {
		filters := builtin(program) // panics if it is not good
		for _, f := range filters.all {
			if whole(f.Command, program) {
				matched[program] = true
			}
		}
		if !matched[program] {
			t.Errorf("no filter of its family is for %s", program)
		}
	}
	files, err := embedded.ReadDir("filters")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		used := false
		for _, family := range families() {
			used = used || family+".toml" == file.Name()
		}
		if !used {
			t.Errorf("no program has the filters of %s", file.Name())
		}
	}
}

// A filter that panics costs nobody an output.
func TestR104_APanicGivesTheRawOutput(t *testing.T) {
	broken := Defaults()
	broken.Filters = Filters{[]filter{{Command: "("}}}
	raw := strings.Repeat("an output of a tool\n", 100)
	text, info := Minimize("tool", raw, 0, broken)
	if text != raw || info.Changed || info.Label != Unsupported || info.Fault == "" {
		t.Errorf("it became %.40q, %+v", text, info)
	}
}
