package dialecttest

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/dialect"
)

// Call calls one of some tools as a model does: with JSON. The test fails if there is none of that
// name; the error is the tool's.
func Call(ctx context.Context, t *testing.T, tools []dialect.Tool, name string, arguments any, update func(dialect.Result)) (dialect.Result, error) {
	t.Helper()
	text, ok := arguments.(string)
	if !ok {
		encoded, err := json.Marshal(arguments)
		require.NoError(t, err)
		text = string(encoded)
	}
	for _, tool := range tools {
		if tool.Name == name {
			return tool.Call(ctx, dialect.Call{Arguments: json.RawMessage(text), Update: update})
		}
	}
	t.Fatalf("there is no tool %s", name)
	return dialect.Result{}, nil
}

// Fields are what a client gets of a structure.
func Fields(t *testing.T, v any) map[string]any {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	var all map[string]any
	require.NoError(t, json.Unmarshal(text, &all))
	return all
}
