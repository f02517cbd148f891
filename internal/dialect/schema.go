package dialect

import "encoding/json"

// Describe returns the schema of a parameter.
func Describe(kind, description string) map[string]any {
	return map[string]any{"type": kind, "description": description}
}

// ObjectSchema returns the schema of an object with exactly these properties.
func ObjectSchema(properties map[string]any, required ...string) json.RawMessage {
	schema := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		schema["required"] = required
	}
	text, _ := json.Marshal(schema) // of strings and maps
	return text
}
