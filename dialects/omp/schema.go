package omp

import "encoding/json"

// property is one parameter of a schema.
type property struct {
	name   string
	schema map[string]any
}

func describe(kind, description string) map[string]any {
	return map[string]any{"type": kind, "description": description}
}

// bashSchema is the schema of the tool bash: async is in it while it is enabled
// head and tail while limits are taken.
func bashSchema(s Settings) json.RawMessage {
	env := describe("object", descEnv)
	env["additionalProperties"] = map[string]any{"type": "string"}
	all := []property{
		{"command", describe("string", descCommand)},
		{"env", env},
		{"timeout", describe("number", descTimeout)},
		{"cwd", describe("string", descCwd)},
		{"pty", describe("boolean", descPty)},
	}
	if s.AsyncEnabled {
		all = append(all, property{"async", describe("boolean", descAsync)})
	}
	if s.StripTrailingHeadTail {
		all = append(all, property{"head", describe("integer", descHead)}, property{"tail", describe("integer", descTail)})
	}
	return object(all, "command")
}

func jobSchema() json.RawMessage {
	ids := func(description string) map[string]any {
		p := describe("array", description)
		p["items"] = map[string]any{"type": "string"}
		return p
	}
	return object([]property{{"list", describe("boolean", descList)}, {"poll", ids(descPoll)}, {"cancel", ids(descCancel)}})
}

// object is the schema of an object that has these properties and no others.
func object(all []property, required ...string) json.RawMessage {
	properties := map[string]any{}
	for _, p := range all {
		properties[p.name] = p.schema
	}
	schema := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		schema["required"] = required
	}
	text, _ := json.Marshal(schema) // of strings and maps
	return text
}
