package keys

import (
	_ "embed"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

//go:embed keys.txt
var list string

// Check fails a test if a key of a struct, or of one that it contains, is not in the list, or
// belongs to another field.
func Check(t testing.TB, structs ...any) {
	t.Helper()
	given := map[string]string{}
	for line := range strings.Lines(list) {
		key, field, _ := strings.Cut(strings.TrimSpace(line), " ")
		if given[key] != "" {
			t.Errorf("the key %s is given twice", key)
		}
		given[key] = field
	}
	var missing []string
	w := visitor{t: t, seen: map[reflect.Type]bool{reflect.TypeFor[time.Time](): true}, do: func(key, field string) {
		switch was, is := given[key]; {
		case !is:
			missing = append(missing, key+" "+field)
		case was != field:
			t.Errorf("the key %s of %s belongs to %s", key, field, was)
		}
	}}
	for _, v := range structs {
		w.walk(reflect.TypeOf(v))
	}
	slices.Sort(missing)
	if len(missing) > 0 {
		t.Errorf("add these lines to internal/test/keys/keys.txt:\n%s", strings.Join(missing, "\n"))
	}
}

// visitor calls do for each key of structs.
type visitor struct {
	t    testing.TB
	seen map[reflect.Type]bool
	do   func(key, field string)
}

func (w *visitor) walk(of reflect.Type) {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice || of.Kind() == reflect.Array || of.Kind() == reflect.Map {
		of = of.Elem()
	}
	if of.Kind() == reflect.Struct && !w.seen[of] {
		w.seen[of] = true
		w.fields(of.String(), of)
	}
}

func (w *visitor) fields(name string, of reflect.Type) {
	for f := range of.Fields() {
		tag, _, _ := strings.Cut(f.Tag.Get("cbor"), ",")
		switch {
		case tag == "-" || !f.IsExported() && !f.Anonymous:
			continue
		case f.Anonymous && tag == "":
			w.fields(name, f.Type)
			continue
		case !strings.HasSuffix(f.Tag.Get("cbor"), ",keyasint,omitzero"):
			w.t.Errorf("%s.%s has no integer key", of, f.Name)
		}
		w.do(fmt.Sprintf("%s/%s", name, tag), f.Name)
		w.walk(f.Type)
	}
}
