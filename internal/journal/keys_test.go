package journal_test

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/internal/journal"
)

// testdata/keys.txt has a line for each key that a stored struct ever had. A key belongs to its
// field for ever: a new field gets a new one, whose line is added; a line is never changed.
func TestKeysOfRecords(t *testing.T) {
	text, err := os.ReadFile("testdata/keys.txt")
	must(t, err)
	given := map[string]string{}
	for line := range strings.Lines(string(text)) {
		key, field, _ := strings.Cut(strings.TrimSpace(line), " ")
		require.NotContains(t, given, key, "the key is given twice")
		given[key] = field
	}
	var missing []string
	eachKey(t, journal.Records(), func(key, field string) {
		switch was, is := given[key]; {
		case !is:
			missing = append(missing, key+" "+field)
		case was != field:
			t.Errorf("the key %s of %s belongs to %s", key, field, was)
		}
	})
	slices.Sort(missing)
	require.Empty(t, missing, "add these lines to testdata/keys.txt")
}

// eachKey calls do for each key of structs, and of those that they contain.
func eachKey(t *testing.T, all []any, do func(key, field string)) {
	seen := map[reflect.Type]bool{reflect.TypeFor[time.Time](): true}
	var walk func(of reflect.Type)
	fields := func(name string, of reflect.Type) {}
	fields = func(name string, of reflect.Type) {
		for f := range of.Fields() {
			tag, _, _ := strings.Cut(f.Tag.Get("cbor"), ",")
			switch {
			case tag == "-" || !f.IsExported() && !f.Anonymous:
				continue
			case f.Anonymous && tag == "":
				fields(name, f.Type)
				continue
			case !strings.HasSuffix(f.Tag.Get("cbor"), ",keyasint,omitzero"):
				t.Errorf("%s.%s has no integer key", of, f.Name)
			}
			do(fmt.Sprintf("%s/%s", name, tag), f.Name)
			walk(f.Type)
		}
	}
	walk = func(of reflect.Type) {
		for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
			of = of.Elem()
		}
		if of.Kind() == reflect.Struct && !seen[of] {
			seen[of] = true
			fields(of.Name(), of)
		}
	}
	for _, v := range all {
		walk(reflect.TypeOf(v))
	}
}
