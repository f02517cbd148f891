package opencode

import (
	"encoding/json"
	"fmt"
)

func describe(kind, description string) map[string]any {
	return map[string]any{"type": kind, "description": description}
}

func bashSchema(s Settings) json.RawMessage {
	properties := map[string]any{
		"command":     describe("string", descCommand),
		"timeout":     describe("integer", fmt.Sprintf(descTimeout, s.timeout(0), s.MaxTimeout)),
		"workdir":     describe("string", descWorkdir),
		"description": describe("string", descDescription),
	}
	if s.Background {
		properties["run_in_background"] = describe("boolean", descRunIn)
	}
	return object(properties, "command", "description")
}

func viewSchema() json.RawMessage {
	return object(map[string]any{
		"file_path": describe("string", descPath),
		"offset":    describe("integer", descOffset),
		"limit":     describe("integer", fmt.Sprintf(descLimit, defaultLimit)),
	}, "file_path")
}

func taskSchema() json.RawMessage {
	return object(map[string]any{"task_id": describe("string", descTaskID)}, "task_id")
}

// object is the schema of an object that has these properties and no others.
func object(properties map[string]any, required ...string) json.RawMessage {
	schema := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		schema["required"] = required
	}
	text, _ := json.Marshal(schema) // of strings and maps
	return text
}
