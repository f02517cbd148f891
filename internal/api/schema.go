package api

import (
	"reflect"
	"slices"
	"strings"
	"time"

	"troupe/messages"
)

// schema is a JSON schema, as far as the document needs it.
type schema struct {
	ref, format, about string
	kind               string // "string", "object", …
	null               bool   // or null
	constant           string
	enum               []string
	items, extra       *schema
	all                []*schema
	required           []string
	properties         []property
}

type property struct {
	name string
	*schema
}

// schemas makes the schemas of types, each once.
type schemas struct {
	made map[string]*schema
	todo []reflect.Type
}

// nullTypes are the types whose zero value is null in a record.
var nullTypes = []reflect.Type{
	reflect.TypeFor[messages.Outcome](), reflect.TypeFor[messages.Cause](), reflect.TypeFor[messages.Error](), reflect.TypeFor[messages.Rusage](),
	reflect.TypeFor[messages.Terminal](), reflect.TypeFor[time.Time](), reflect.TypeFor[messages.Tristate](),
}

// nullFields are the fields whose zero value is null.
var nullFields = []string{"Record.name", "Record.argv", "Record.signal", "Record.pid", "Record.timeout_ms", "StreamOutput.file", "StreamOutput.bytes"}

// inRecord are the types of which a record consists: absent values are null there.
var inRecord = []string{"Record", "Notice", "StreamOutput"}

// optional are the fields that a request may leave out and a reply always has.
var optional = []string{"RunCommand.name", "RunCommand.description", "ScopeQuota.jobs", "ScopeQuota.sessions"}

// of returns the schema of a type: a reference to that of a struct, which is made later.
func (s *schemas) of(t reflect.Type) *schema {
	switch t {
	case reflect.TypeFor[messages.Version]():
		return &schema{kind: "integer", constant: "1"}
	case reflect.TypeFor[time.Time]():
		return &schema{kind: "string", format: "date-time"}
	case reflect.TypeFor[messages.Tristate]():
		return &schema{kind: "boolean"}
	case reflect.TypeFor[messages.NoJobs]():
		return s.of(reflect.TypeFor[[]messages.JobID]())
	case reflect.TypeFor[[]messages.StreamOutput]():
		one := s.of(reflect.TypeFor[messages.StreamOutput]())
		return &schema{kind: "object", properties: []property{{"merged", one}, {"stdout", one}, {"stderr", one}}}
	}
	if values, is := enums()[t]; is {
		return &schema{kind: "string", enum: values}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem())
	case reflect.Struct:
		s.todo = append(s.todo, t)
		return &schema{ref: schemaName(t)}
	case reflect.Slice:
		return &schema{kind: "array", items: s.of(t.Elem())}
	case reflect.Map:
		return &schema{kind: "object", extra: s.of(t.Elem())}
	case reflect.Bool:
		return &schema{kind: "boolean"}
	case reflect.String:
		return &schema{kind: "string"}
	}
	return &schema{kind: "integer"}
}

// schemaName returns the name of a struct in the document.
func schemaName(t reflect.Type) string {
	if messages.ObjectOf(t) == messages.ObjectOf(reflect.TypeFor[messages.Record]()) {
		return "Record"
	}
	return t.Name()
}

// build makes the schemas of types, and of those that they refer to.
func (s *schemas) build(types ...reflect.Type) {
	s.made, s.todo = map[string]*schema{}, types
	for len(s.todo) > 0 {
		t := s.todo[0]
		s.todo = s.todo[1:]
		name := schemaName(t)
		if s.made[name] != nil {
			continue
		}
		one := &schema{kind: "object", about: descriptions()[name]}
		s.made[name] = one
		if t == reflect.TypeFor[Result]() {
			shown := &schema{kind: "object"}
			s.fields(shown, name, reflect.TypeFor[Shown](), nil)
			shown.required = nil
			*one = schema{about: descriptions()[name], all: []*schema{s.of(reflect.TypeFor[messages.Record]()), shown}}
			continue
		}
		s.fields(one, name, messages.ObjectOf(t), nil)
	}
}

// fields adds the fields of a struct to a schema, without those that a field above hides.
func (s *schemas) fields(into *schema, owner string, t reflect.Type, hidden []string) {
	var own []string
	for f := range t.Fields() {
		if name, _, embedded := jsonName(f); name != "" && !embedded {
			own = append(own, name)
		}
	}
	for f := range t.Fields() {
		name, omitted, embedded := jsonName(f)
		switch {
		case embedded:
			s.fields(into, owner, f.Type, append(slices.Clone(own), hidden...))
			continue
		case name == "" || slices.Contains(hidden, name):
			continue
		}
		where := owner + "." + name
		one := s.of(f.Type)
		one.about = descriptions()[where]
		if values, is := fieldEnums()[where]; is {
			one.enum = values
		}
		one.null = slices.Contains(nullFields, where) || !omitted &&
			(f.Type.Kind() == reflect.Pointer || slices.Contains(inRecord, owner) && slices.Contains(nullTypes, f.Type))
		into.properties = append(into.properties, property{name, one})
		if !omitted && !slices.Contains(optional, where) && !absentMeans(owner, f) {
			into.required = append(into.required, name)
		}
	}
}

// jsonName returns the name of a field, "" if it has none, and whether it may be left out. The
// fields of an embedded one are those of its struct.
func jsonName(f reflect.StructField) (name string, omitted, embedded bool) {
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	switch {
	case name == "-":
		return "", false, false
	case options == "embed", f.Anonymous && name == "":
		return "", false, true
	case !f.IsExported():
		return "", false, false
	}
	return name, strings.HasPrefix(options, "omit"), false
}

// absentMeans reports whether a route gives an absent field a value.
func absentMeans(owner string, f reflect.StructField) bool {
	for _, r := range Routes() {
		if r.Request == nil || r.Media() != "" || reflect.TypeOf(r.Request).Name() != owner {
			continue
		}
		if v := reflect.ValueOf(r.Request).FieldByName(f.Name); v.IsValid() && !v.IsZero() {
			return true
		}
	}
	return false
}
