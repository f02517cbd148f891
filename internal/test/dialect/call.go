package dialecttest

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/dialect"
)

// Call calls a tool as a model does: with JSON. The test fails if there is no tool of that
// name. The error is the tool's.
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
	t.Fatalf("no tool %s", name)
	return dialect.Result{}, nil
}

// Fields returns the JSON of a structure as a client decodes it.
func Fields(t *testing.T, v any) map[string]any {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	var all map[string]any
	require.NoError(t, json.Unmarshal(text, &all))
	return all
}
