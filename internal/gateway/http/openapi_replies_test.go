package http_test

import (
	"encoding/json"
	"fmt"
	nethttp "net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"troupe/messages"
)

// promised is what openapi.yaml says of replies: the schema of each that is JSON, by
// method, path and status, and the schemas by their names.
var promised = sync.OnceValues(func() (map[string]string, map[string]*jsonschema.Resolved) {
	text, err := os.ReadFile("openapi.yaml")
	if err != nil {
		panic(err)
	}
	var d struct {
		Paths map[string]map[string]struct {
			Responses map[string]struct {
				Content map[string]struct {
					Schema struct {
						Ref string `yaml:"$ref"`
					} `yaml:"schema"`
				} `yaml:"content"`
			} `yaml:"responses"`
		} `yaml:"paths"`
		Components struct {
			Schemas map[string]any `yaml:"schemas"`
		} `yaml:"components"`
	}
	if err := yaml.Unmarshal(text, &d); err != nil {
		panic(err)
	}
	replies := map[string]string{}
	for path, methods := range d.Paths {
		for method, o := range methods {
			for status, r := range o.Responses {
				if ref := r.Content["application/json"].Schema.Ref; ref != "" {
					replies[strings.ToUpper(method)+" "+path+" "+status] = ref[strings.LastIndex(ref, "/")+1:]
				}
			}
		}
	}
	return replies, resolved(d.Components.Schemas)
})

var parameter = regexp.MustCompile(`\{\w+\}`)

func resolved(schemas map[string]any) map[string]*jsonschema.Resolved {
	all, err := json.Marshal(schemas)
	if err != nil {
		panic(err)
	}
	defs := strings.ReplaceAll(string(all), "#/components/schemas/", "#/$defs/")
	out := map[string]*jsonschema.Resolved{}
	for name := range schemas {
		var s jsonschema.Schema
		if err := json.Unmarshal(fmt.Appendf(nil, `{"$ref":"#/$defs/%s","$defs":%s}`, name, defs), &s); err != nil {
			panic(err)
		}
		if out[name], err = s.Resolve(nil); err != nil {
			panic(err)
		}
	}
	return out
}

// conforms holds a reply that is JSON against openapi.yaml.
func conforms(t *testing.T, method, target string, reply *nethttp.Response, body []byte) {
	t.Helper()
	replies, _ := promised()
	switch path, _, _ := strings.Cut(target, "?"); {
	case reply.Header.Get("Content-Type") != "application/json" || method == nethttp.MethodHead:
	case reply.StatusCode >= nethttp.StatusBadRequest:
		valid(t, "ErrorBody", body)
	default:
		this := fmt.Sprintf("%s %s %d", method, path, reply.StatusCode)
		for which, name := range replies {
			pattern := parameter.ReplaceAllString(strings.Replace(which, "{path}", ".+", 1), "[^/]+")
			if regexp.MustCompile("^" + pattern + "$").MatchString(this) {
				valid(t, name, body)
				return
			}
		}
		t.Errorf("openapi.yaml tells of no reply %s", this)
	}
}

func valid(t *testing.T, name string, body []byte) {
	t.Helper()
	_, schemas := promised()
	var v any
	require.NoError(t, json.Unmarshal(body, &v), "%s", body)
	require.NoError(t, schemas[name].Validate(v), "%s: %s", name, body)
}

// Whatever is null in a reply may be so by openapi.yaml: in those of jobs that have ended
// in many ways, and of what is left of sessions.
func TestOpenAPIHasTheTypesOfReplies(t *testing.T) {
	d := start(t, nil)
	for _, body := range []string{
		`{"command":"echo a","name":"text","tag":"t","description":"d","on_finish":["false"]}`,
		`{"argv":["echo"],"streams":"separate"}`, `{"command":"kill -9 $$"}`, `{"command":"sleep 600","timeout_ms":1}`, `{"command":"sleep 600 & exit 3","on_exit":"keep"}`,
		`{"argv":["/none"]}`, `{"command":"head -c 100000 /dev/zero","max_output":{"bytes":9000}}`,
		`{"command":"exit 3","session":"live","open":{"backend":"shell"}}`, `{"command":"kill $$","session":"live"}`,
		`{"command":"sleep 600","mode":"async","terminal":{"rows":5,"cols":20}}`, `{"command":"sleep 600","mode":"async","timeout_ms":600000}`,
	} {
		status, job := d.raw("POST", "/v1/jobs?text=9", body)
		require.Less(t, status, 300, job)
	}
	_, list := d.raw("GET", "/v1/jobs?finished=true", "")
	require.Contains(t, list, `"argv":null`)
	d.raw("POST", "/v1/sessions", `{"session":"s","backend":"shell"}`)
	d.raw("GET", "/v1/sessions", "")
	d.raw("DELETE", "/v1/sessions/s", "")
	_, recent := d.raw("GET", "/v1/sessions?recent=true", "")
	require.Contains(t, recent, `"exit_code":null`)
	for e, err := range d.client.Events(t.Context(), messages.Subscribe{}) {
		require.NoError(t, err)
		b, err := json.Marshal(e)
		require.NoError(t, err)
		valid(t, "Event", b)
		if e.Kind == "session_closed" && e.Session.Session == "s" {
			break
		}
	}
}
