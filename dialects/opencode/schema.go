package opencode

import (
	"encoding/json"
	"fmt"

	"troupe/dialects"
)

func bashSchema(s Settings) json.RawMessage {
	properties := map[string]any{
		"command":     dialects.Describe("string", descCommand),
		"timeout":     dialects.Describe("integer", fmt.Sprintf(descTimeout, s.timeout(0), s.MaxTimeout)),
		"workdir":     dialects.Describe("string", descWorkdir),
		"description": dialects.Describe("string", descDescription),
	}
	if s.Background {
		properties["run_in_background"] = dialects.Describe("boolean", descRunIn)
	}
	return dialects.Object(properties, "command", "description")
}

func viewSchema() json.RawMessage {
	return dialects.Object(map[string]any{
		"file_path": dialects.Describe("string", descPath),
		"offset":    dialects.Describe("integer", descOffset),
		"limit":     dialects.Describe("integer", fmt.Sprintf(descLimit, defaultLimit)),
	}, "file_path")
}

func taskSchema() json.RawMessage {
	return dialects.Object(map[string]any{"task_id": dialects.Describe("string", descTaskID)}, "task_id")
}
