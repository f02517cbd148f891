package mcpserve

import (
	"encoding/json"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"troupe/internal/cli"
	"troupe/internal/cli/config"
	"troupe/internal/gateway/mcp"
)

// mostListed bounds the answer to tools/list of the core dialect, in bytes: a model pays for
// it in each of its turns (docs/decisions/071).
const mostListed = 7_650

// listed returns the tools that a client of a dialect sees, with all settings that add some.
func listed(t *testing.T, name string) *sdk.ListToolsResult {
	t.Helper()
	at := &config.Settings{}
	at.OpenCode.Background = true
	d, err := newDialect(&cli.Main{}, &Flags{Dialect: name}, at, t.TempDir(), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	s := mcp.New(mcp.Options{Dialect: d, Scope: "mcp"})
	t.Cleanup(s.Close)
	ours, theirs := net.Pipe()
	t.Cleanup(func() { _ = theirs.Close() })
	go func() { _ = s.Serve(t.Context(), ours, ours) }()
	c, err := sdk.NewClient(&sdk.Implementation{Name: "lists", Version: "1"}, nil).Connect(t.Context(), &sdk.IOTransport{Reader: theirs, Writer: theirs}, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	r, err := c.ListTools(t.Context(), nil)
	require.NoError(t, err)
	return r
}

func TestToolsListIsShort(t *testing.T) {
	t.Parallel()
	r := listed(t, CoreDialect)
	b, err := json.Marshal(r)
	require.NoError(t, err)
	require.LessOrEqual(t, len(b), mostListed)
	for _, tool := range r.Tools {
		require.Nil(t, tool.OutputSchema, tool.Name)
	}
}

// open are the parameters of all dialects that are any string. Each other string is one of a
// closed set, and its schema says which.
var open = strings.Fields(`
	command description queue session cwd stdin name key job_id text keys paste signal pattern
	workdir file_path task_id
	log host shellId input ref_id cursor label`)

// schema is what is read of the schema of a parameter, or of the arguments.
type schema struct {
	Type                 json.RawMessage
	Enum                 []string
	Items                *schema
	Properties           map[string]*schema
	AdditionalProperties json.RawMessage
}

// check fails for a type that is a list, which Gemini refuses, and a closed set without enum.
func (s *schema) check(t *testing.T, at, name string) {
	t.Helper()
	var kind string
	require.NoError(t, json.Unmarshal(s.Type, &kind), "%s has the type %s", at, s.Type)
	switch kind {
	case "string":
		require.NotEqual(t, len(s.Enum) > 0, slices.Contains(open, name), "%s: give its values as enum, or add it to open", at)
	case "array":
		require.Equal(t, `"string"`, string(s.Items.Type), at)
	case "object":
		for name, p := range s.Properties {
			p.check(t, at+"."+name, name)
		}
	default:
		require.Contains(t, []string{"integer", "number", "boolean"}, kind, at)
	}
}

func TestSchemasArePlain(t *testing.T) {
	t.Parallel()
	all := map[string]any{}
	for _, name := range DialectNames {
		for _, tool := range listed(t, name).Tools {
			all[name+" "+tool.Name] = tool.InputSchema
		}
	}
	require.Greater(t, len(all), 20)
	for at, in := range all {
		b, err := json.Marshal(in)
		require.NoError(t, err)
		var s schema
		require.NoError(t, json.Unmarshal(b, &s), at)
		s.check(t, at, "")
	}
}
