package dialect

import "encoding/json"

// Describe is the schema of a parameter.
func Describe(kind, description string) map[string]any {
	return map[string]any{"type": kind, "description": description}
}

// ObjectSchema is the schema of an object that has these properties and no others.
func ObjectSchema(properties map[string]any, required ...string) json.RawMessage {
	schema := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		schema["required"] = required
	}
	text, _ := json.Marshal(schema) // of strings and maps
	return text
}
