package opencode

import (
	"encoding/json"
	"fmt"

	"troupe/internal/dialect"
)

func bashSchema(s Settings) json.RawMessage {
	properties := map[string]any{
		"command":     dialect.Describe("string", descCommand),
		"timeout":     dialect.Describe("integer", fmt.Sprintf(descTimeout, timeoutOf(0), maxTimeout)),
		"workdir":     dialect.Describe("string", descWorkdir),
		"description": dialect.Describe("string", descDescription),
	}
	if s.Background {
		properties["run_in_background"] = dialect.Describe("boolean", descRunIn)
	}
	return dialect.ObjectSchema(properties, "command", "description")
}

func viewSchema() json.RawMessage {
	return dialect.ObjectSchema(map[string]any{
		"file_path": dialect.Describe("string", descPath),
		"offset":    dialect.Describe("integer", descOffset),
		"limit":     dialect.Describe("integer", fmt.Sprintf(descLimit, defaultLimit)),
	}, "file_path")
}

func taskSchema() json.RawMessage {
	return dialect.ObjectSchema(map[string]any{"task_id": dialect.Describe("string", descTaskID)}, "task_id")
}
