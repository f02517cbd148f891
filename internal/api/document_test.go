package api

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"troupe/messages"
)

type operation struct {
	ID          string `yaml:"operationId"`
	Description string `yaml:"description"`
	Parameters  []struct{ Name, Description string }
	Responses   map[string]any
}

// The document is YAML; its operations have names of their own, its parameters descriptions, its
// references schemas, and each schema is referred to.
func TestOpenAPIIsWhole(t *testing.T) {
	text := Document()
	var d struct {
		OpenAPI    string `yaml:"openapi"`
		Paths      map[string]map[string]operation
		Components struct{ Schemas map[string]any }
		Statuses   map[messages.Code]int `yaml:"x-troupe-statuses"`
	}
	require.NoError(t, yaml.Unmarshal([]byte(text), &d))
	require.Equal(t, "3.1.0", d.OpenAPI)
	require.Equal(t, statuses(), d.Statuses)
	ids := map[string]bool{}
	for path, operations := range d.Paths {
		for method, o := range operations {
			require.NotEmpty(t, o.Description, path)
			require.False(t, ids[o.ID], o.ID)
			ids[o.ID] = true
			require.Contains(t, o.Responses, "default")
			for _, p := range o.Parameters {
				require.NotEmpty(t, p.Description, "%s %s %s", method, path, p.Name)
			}
		}
	}
	require.Len(t, ids, len(Routes()))
	refs := map[string]bool{"Event": true, "AttachEvent": true, "AttachRequest": true} // of streams
	for _, m := range regexp.MustCompile(`#/components/schemas/(\w+)`).FindAllStringSubmatch(text, -1) {
		refs[m[1]] = true
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(refs)), slices.Collect(maps.Keys(d.Components.Schemas)))
	used := described(d.Components.Schemas)
	for _, keys := range [][]string{slices.Collect(maps.Keys(descriptions())), slices.Collect(maps.Keys(fieldEnums())), nullFields, optional} {
		for _, key := range keys {
			require.True(t, used[key], "%s is no schema, field or parameter", key)
		}
	}
}

// described returns what may be described: schemas, their fields, and the parameters of requests.
func described(all map[string]any) map[string]bool {
	used := map[string]bool{}
	for name, one := range all {
		used[name] = true
		properties, _ := one.(map[string]any)["properties"].(map[string]any)
		for field := range properties {
			used[name+"."+field] = true
		}
	}
	for _, r := range Routes() {
		for _, p := range r.Parameters() {
			if p.About != "" {
				continue
			}
			key := p.Name
			if r.Request != nil && descriptions()[reflect.TypeOf(r.Request).Name()+"."+p.Name] != "" {
				key = reflect.TypeOf(r.Request).Name() + "." + p.Name
			}
			used[key] = true
		}
	}
	return used
}

// A schema names what is always there, what may be null, and each closed set.
func TestOpenAPISaysWhatHolds(t *testing.T) {
	text := Document()
	schemaOf := func(name string) string {
		m := regexp.MustCompile(`(?s)\n    ` + name + `:\n(.*?)\n(    \w|x-)`).FindStringSubmatch(text)
		require.NotNil(t, m, name)
		return m[1]
	}
	for name, lines := range map[string][]string{
		"Record": {
			"outcome: {type: [string, 'null'], enum: [exited, signaled, timed_out, cancelled, failed_to_start, lost, null]}", "state: {type: string, enum: [queued,",
			"merged: {$ref: '#/components/schemas/StreamOutput'}", "pid: {type: [integer, 'null']}", "deadline: {type: string, format: date-time}",
			"exit_code: {type: [integer, 'null']}", "v: {type: integer, const: 1}", "required: [v, id, uid, scope,",
		},
		"PromoteCommand": {"keep: {type: boolean"},
		"SignalCommand":  {"required: [signal]"},
		"RunCommand":     {"stdin: {type: string, enum: ['null', pipe]"},
		"ShutdownNode":   {"stop_jobs: {type: boolean"},
		"WriteInput":     {"data_base64: {type: string}"},
		"OutputPage":     {"stream: {type: string, enum: [merged, stdout, stderr, both]}", "lines: {type: [integer, 'null']"},
		"ScreenText":     {"rows: {type: integer}", "cursor: {$ref: '#/components/schemas/Cursor'}"},
		"AttachRequest":  {"enum: [close_input, resize,"},
		"Condition":      {"enum: [exit, pattern, port, quiet, input, blocked]"},
		"OpenScope":      {"join: {type: boolean"},
	} {
		for _, line := range lines {
			require.Contains(t, schemaOf(name), line)
		}
	}
	for _, name := range []string{"PromoteCommand", "RunCommand", "StopCommand", "WriteInput", "ScopeQuota"} {
		require.NotContains(t, schemaOf(name), "required", name)
	}
}

// Each closed set has the constants of its type: one that is added must be added there.
func TestEnumsAreTheConstants(t *testing.T) {
	left := map[string]bool{ // by no client, or shown as another
		"": true, string(messages.Retired): true, string(messages.StdinHost): true,
	}
	declared := constants(t, "../../messages/*.go")
	for typ, values := range enums() {
		if typ == reflect.TypeFor[messages.Stream]() {
			continue // not strings
		}
		want := slices.DeleteFunc(declared[typ.Name()], func(v string) bool { return left[v] })
		require.ElementsMatch(t, want, values, typ.Name())
	}
}

// So has each closed set of texts: those of a type, of a group of constants, or of the streams.
func TestFieldEnumsAreTheConstants(t *testing.T) {
	spill, groups := constants(t, "../../spill/*.go"), groups(t, "../../messages/plan.go", "attach.go", "event.go")
	one := []string{messages.Merged.String(), messages.Stdout.String(), messages.Stderr.String()}
	want := map[string][]string{
		"RunCommand.durability": spill["Durability"], "Quota.policy": spill["Policy"], "Condition.stream": one, "AttachEvent.stream": one,
		"AttachEvent.type": groups["AttachHello"], "AttachEvent.reason": groups["LeaseGranted"], "AttachRequest.type": groups["AttachCloseInput"],
		"Event.event": groups["SessionOpened"],
	}
	for _, owner := range []string{"Record", "SessionPlan", "OpenSession", "SessionInfo", "SessionEnd"} {
		want[owner+".backend"] = groups["BackendPipe"]
	}
	for _, c := range commandKinds {
		want["Event.event"] = append(want["Event.event"], snake(c.fact))
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(want)), slices.Collect(maps.Keys(fieldEnums())))
	for field, values := range want {
		require.ElementsMatch(t, values, fieldEnums()[field], field)
	}
}

// snake returns the name of a fact as an event has it.
func snake(fact any) string {
	return strings.ToLower(regexp.MustCompile(`\B[A-Z]`).ReplaceAllString(reflect.TypeOf(fact).Name(), "_$0"))
}

// groups returns the values of groups of string constants, by the name of the first.
func groups(t *testing.T, files ...string) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		for _, d := range f.Decls {
			group, is := d.(*ast.GenDecl)
			if !is || group.Tok != token.CONST {
				continue
			}
			first := group.Specs[0].(*ast.ValueSpec).Names[0].Name
			for _, s := range group.Specs {
				if value, is := s.(*ast.ValueSpec).Values[0].(*ast.BasicLit); is && value.Kind == token.STRING {
					text, err := strconv.Unquote(value.Value)
					require.NoError(t, err)
					all[first] = append(all[first], text)
				}
			}
		}
	}
	return all
}

// constants returns the values of typed string constants, by type.
func constants(t *testing.T, pattern string) map[string][]string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	require.NoError(t, err)
	all := map[string][]string{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		f, err := parser.ParseFile(token.NewFileSet(), name, text, 0)
		require.NoError(t, err)
		ast.Inspect(f, func(n ast.Node) bool {
			v, is := n.(*ast.ValueSpec)
			if !is || v.Type == nil || len(v.Values) == 0 {
				return true
			}
			typ, is := v.Type.(*ast.Ident)
			if !is {
				return true
			}
			switch value := v.Values[0].(type) {
			case *ast.BasicLit:
				if text, err := strconv.Unquote(value.Value); err == nil {
					all[typ.Name] = append(all[typ.Name], text)
				}
			case *ast.Ident:
				if value.Name == "AutoCleanup" {
					all[typ.Name] = append(all[typ.Name], messages.AutoCleanup)
				}
			}
			return true
		})
	}
	return all
}
