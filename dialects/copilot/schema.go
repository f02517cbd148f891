package copilot

import (
	"encoding/json"
	"fmt"
)

func describe(kind, description string) map[string]any {
	return map[string]any{"type": kind, "description": description}
}

func executeSchema(s Settings) json.RawMessage {
	mode := describe("string", descMode)
	mode["enum"] = []string{ModeSync, ModeAsync}
	return object(map[string]any{
		"command": describe("string", descCommand), "description": describe("string", descDescription),
		"shellId": shellID(descShellID), "mode": mode, "detach": describe("boolean", descDetach),
		"initial_wait": describe("number", fmt.Sprintf(descInitialWait, spoken(s.InitialWait))),
	}, "command", "description")
}

func readSchema() json.RawMessage {
	return object(map[string]any{"shellId": shellID(descTheShell), "delay": describe("number", descDelay)}, "shellId", "delay")
}

func writeSchema() json.RawMessage {
	return object(map[string]any{
		"shellId": shellID(descTheShell), "input": describe("string", descInput), "delay": describe("number", descDelayWrite),
	}, "shellId", "delay")
}

func stopSchema() json.RawMessage {
	return object(map[string]any{"shellId": shellID(descTheShell)}, "shellId")
}

// shellID may be a number, too: models take "0" for one.
func shellID(description string) map[string]any {
	return map[string]any{"type": []string{"string", "integer"}, "description": description}
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
