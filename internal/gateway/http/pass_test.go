package http

import (
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/api"
	"troupe/messages"
)

// confinedTypes are what confined looks for in a request, and waitsIn in a run.
var confinedTypes = []reflect.Type{reflect.TypeFor[messages.JobID](), reflect.TypeFor[[]messages.JobID](), reflect.TypeFor[messages.ScopePath](), reflect.TypeFor[messages.Principal](), reflect.TypeFor[[]messages.After]()}

// escapes returns the fields of a request that hold a job, a scope or a principal where confined
// does not look.
func escapes(request reflect.Type) (names []string) {
	for _, f := range reflect.VisibleFields(request) {
		if f.Anonymous || slices.Contains(confinedTypes, f.Type) && f.IsExported() {
			continue // the fields of an embedded one are visible, too
		}
		if holds(f.Type, map[reflect.Type]bool{}) {
			names = append(names, f.Name)
		}
	}
	return names
}

// holds reports whether a value of a type can hold a job, a scope or a principal.
func holds(t reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	if slices.Contains(confinedTypes, t) || t.Kind() == reflect.Interface {
		return true
	}
	switch t.Kind() {
	case reflect.Map:
		return holds(t.Key(), seen) || holds(t.Elem(), seen)
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return holds(t.Elem(), seen)
	case reflect.Struct:
		for f := range t.Fields() {
			if holds(f.Type, seen) {
				return true
			}
		}
	}
	return false
}

// No request of the API names a job or a scope where its client is not held to its own.
func TestNoFieldEscapesItsScope(t *testing.T) {
	for _, r := range api.Routes() {
		if r.Request != nil {
			require.Empty(t, escapes(reflect.TypeOf(r.Request)), r.ID)
		}
	}
	type inner struct{ Job messages.JobID }
	type control struct {
		inner
		Fine  messages.ScopePath
		Below struct{ To []messages.ScopePath }
		Many  []messages.ScopePath
		Map   map[string]*inner
		Any   any
		Text  string
	}
	require.Equal(t, []string{"Below", "Many", "Map", "Any"}, escapes(reflect.TypeFor[control]()))
}
