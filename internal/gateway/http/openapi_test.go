package http

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"troupe/internal/gateway/http/wire"
	"troupe/messages"
)

// document is what the test reads of openapi.yaml.
type document struct {
	OpenAPI    string                          `yaml:"openapi"`
	Paths      map[string]map[string]operation `yaml:"paths"`
	Components struct {
		Schemas map[string]schema `yaml:"schemas"`
	} `yaml:"components"`
	Statuses map[messages.Code]int `yaml:"x-troupe-statuses"`
}

type operation struct {
	ID          string `yaml:"operationId"`
	Description string `yaml:"description"`
	Parameters  []struct {
		Name        string `yaml:"name"`
		In          string `yaml:"in"`
		Required    bool   `yaml:"required"`
		Schema      schema `yaml:"schema"`
		Description string `yaml:"description"`
	} `yaml:"parameters"`
	Body struct {
		Required bool             `yaml:"required"`
		Content  map[string]media `yaml:"content"`
	} `yaml:"requestBody"`
	Responses map[string]struct {
		Ref     string           `yaml:"$ref"`
		Content map[string]media `yaml:"content"`
	} `yaml:"responses"`
}

type media struct {
	Schema schema `yaml:"schema"`
}

type schema struct {
	Ref        string            `yaml:"$ref"`
	Type       any               `yaml:"type"`
	Items      *schema           `yaml:"items"`
	Additional *schema           `yaml:"additionalProperties"`
	Properties map[string]schema `yaml:"properties"`
}

func readDocument(t *testing.T) document {
	t.Helper()
	text, err := os.ReadFile("openapi.yaml")
	require.NoError(t, err)
	var d document
	require.NoError(t, yaml.Unmarshal(text, &d))
	return d
}

// headers are the request's own, which no table has.
var headers = map[string][]string{
	"POST /v1/jobs": {wire.KeyHeader, "Prefer"},

	"GET /v1/jobs/{id}/output": {"Prefer"},
	"GET /v1/events":           {resumeHeader},
}

// openapi.yaml tells of each route what the table has, and of no other.
func TestOpenAPIRoutes(t *testing.T) {
	d := readDocument(t)
	require.Equal(t, "3.1.0", d.OpenAPI)
	told := 0
	for _, operations := range d.Paths {
		told += len(operations)
	}
	require.Len(t, table(), told)
	ids := map[string]bool{}
	for _, r := range table() {
		t.Run(r.method+" "+r.path, func(t *testing.T) {
			path := strings.Replace(r.path, "...}", "}", 1)
			o, ok := d.Paths[path][strings.ToLower(r.method)]
			require.True(t, ok, "not in openapi.yaml")
			require.NotEmpty(t, o.Description)
			require.False(t, ids[o.ID], "operationId %s is there twice", o.ID)
			ids[o.ID] = true
			checkParameters(t, r, path, o)
			checkBody(t, r, o)
			checkReplies(t, r, o)
		})
	}
}

func checkParameters(t *testing.T, r route, path string, o operation) {
	t.Helper()
	var want, got []string
	for _, part := range strings.Split(path, "/") {
		if strings.HasPrefix(part, "{") {
			want = append(want, "path "+strings.Trim(part, "{}"))
		}
	}
	for _, name := range r.query {
		want = append(want, "query "+name)
	}
	for _, name := range headers[r.method+" "+r.path] {
		want = append(want, "header "+name)
	}
	for _, p := range o.Parameters {
		got = append(got, p.In+" "+p.Name)
		require.Equal(t, p.In == "path", p.Required, p.Name)
		require.NotEmpty(t, p.Description, p.Name)
		require.Contains(t, []any{"string", "integer", "boolean"}, p.Schema.Type, p.Name)
	}
	require.ElementsMatch(t, want, got)
}

func checkBody(t *testing.T, r route, o operation) {
	t.Helper()
	require.Equal(t, r.method == "POST", r.body != nil, "a POST has a body, and nothing else has")
	if r.body == nil {
		require.Empty(t, o.Body.Content)
		return
	}
	require.True(t, o.Body.Required)
	require.Len(t, o.Body.Content, 1)
	require.Equal(t, refTo(r.body), o.Body.Content["application/json"].Schema.Ref)
}

func checkReplies(t *testing.T, r route, o operation) {
	t.Helper()
	var got []string
	for status, reply := range o.Responses {
		if status == "default" {
			require.Equal(t, "#/components/responses/error", reply.Ref)
			continue
		}
		got = append(got, status)
		media, other := r.reply.(string)
		switch {
		case media == "websocket":
			require.Empty(t, reply.Content)
		case other:
			require.Contains(t, reply.Content, media)
			require.Len(t, reply.Content, 1)
		default:
			require.Equal(t, refTo(r.reply), reply.Content["application/json"].Schema.Ref)
		}
	}
	var want []string
	for _, status := range r.statuses {
		want = append(want, strconv.Itoa(status))
	}
	require.ElementsMatch(t, want, got)
	require.Contains(t, o.Responses, "default")
}

func refTo(v any) string { return "#/components/schemas/" + reflect.TypeOf(v).Name() }

// Each schema has the fields of its Go type, and no other; each type that a
// request or a reply can hold has a schema, and nothing else has.
func TestOpenAPISchemas(t *testing.T) {
	d := readDocument(t)
	reached := map[string]bool{}
	todo := []reflect.Type{
		reflect.TypeFor[wire.ErrorBody](), reflect.TypeFor[wire.Event](), reflect.TypeFor[wire.AttachEvent](), reflect.TypeFor[wire.AttachRequest](),
	}
	for _, r := range table() {
		for _, v := range []any{r.body, r.reply} {
			if _, media := v.(string); v != nil && !media {
				todo = append(todo, reflect.TypeOf(v))
			}
		}
	}
	for len(todo) > 0 {
		typ := todo[0]
		todo = todo[1:]
		if reached[typ.Name()] {
			continue
		}
		reached[typ.Name()] = true
		s, ok := d.Components.Schemas[typ.Name()]
		require.True(t, ok, "%s has no schema", typ.Name())
		if typ == reflect.TypeFor[messages.Record]() || typ == reflect.TypeFor[wire.Result]() {
			require.ElementsMatch(t, jobFields(t, typ), keys(s.Properties), typ.Name())
			todo = append(todo, reflect.TypeFor[messages.Error](), reflect.TypeFor[messages.Survivor]())
			continue
		}
		var fields []string
		for _, f := range fieldsOf(typ) {
			name, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
			fields = append(fields, name)
			property := s.Properties[name]
			if f.Type.Kind() == reflect.Pointer && rest == "" {
				require.Subset(t, property.Type, []any{"null"}, "%s.%s is null where there is none", typ.Name(), name)
				property.Type = property.Type.([]any)[0]
			}
			todo = append(todo, compare(t, typ.Name()+"."+name, f.Type, property)...)
		}
		require.ElementsMatch(t, fields, keys(s.Properties), typ.Name())
	}
	require.ElementsMatch(t, keys(reached), keys(d.Components.Schemas))
}

// fieldsOf returns the fields of a JSON object, with those of embedded structs, without those
// that are the tree's own.
func fieldsOf(typ reflect.Type) (fields []reflect.StructField) {
	for f := range typ.Fields() {
		switch name, _, _ := strings.Cut(f.Tag.Get("json"), ","); {
		case f.Anonymous && name == "":
			fields = append(fields, fieldsOf(f.Type)...)
		case name != "-":
			fields = append(fields, f)
		}
	}
	return fields
}

// compare holds a schema against a Go type, and gives the types it refers to.
func compare(t *testing.T, where string, typ reflect.Type, s schema) []reflect.Type {
	t.Helper()
	kinds := map[reflect.Kind]string{reflect.Bool: "boolean", reflect.String: "string", reflect.Slice: "array", reflect.Map: "object"}
	switch {
	case typ.Kind() == reflect.Pointer:
		return compare(t, where, typ.Elem(), s)
	case typ == reflect.TypeFor[time.Time]():
		require.Equal(t, "string", s.Type, where)
		return nil
	case typ.Kind() == reflect.Struct:
		require.Equal(t, "#/components/schemas/"+typ.Name(), s.Ref, where)
		return []reflect.Type{typ}
	}
	want, ok := kinds[typ.Kind()]
	if !ok {
		want = "integer"
	}
	require.Equal(t, want, s.Type, where)
	switch typ.Kind() {
	case reflect.Slice:
		require.NotNil(t, s.Items, where)
		return compare(t, where, typ.Elem(), *s.Items)
	case reflect.Map:
		require.NotNil(t, s.Additional, where)
		return compare(t, where, typ.Elem(), *s.Additional)
	}
	return nil
}

// jobFields are the fields of the job object when all of them are there.
func jobFields(t *testing.T, typ reflect.Type) []string {
	t.Helper()
	job := messages.Record{Labels: messages.Labels{Tag: "t"}, Deadline: time.Now(), Isolation: messages.Group, OnFinish: messages.Notices([]string{"true"}), StopSignal: "INT"}
	var v any = job
	if typ == reflect.TypeFor[wire.Result]() {
		v = wire.Result{Job: job, Text: &wire.Shown{}}
	}
	b, err := json.Marshal(v)
	require.NoError(t, err)
	var object map[string]any
	require.NoError(t, json.Unmarshal(b, &object))
	return keys(object)
}

func keys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// The statuses of the codes stand in openapi.yaml.
func TestOpenAPIStatuses(t *testing.T) {
	require.Equal(t, statuses, readDocument(t).Statuses)
}
