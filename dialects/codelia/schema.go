package codelia

import "encoding/json"

func describe(kind, description string) map[string]any {
	return map[string]any{"type": kind, "description": description}
}

func cacheSchema() json.RawMessage {
	return object(map[string]any{
		"ref_id": describe("string", descRef), "offset": describe("integer", descOffset), "limit": describe("integer", descLimit),
		"head": describe("integer", descHead), "tail": describe("integer", descTail),
	}, "ref_id")
}

func lineSchema() json.RawMessage {
	return object(map[string]any{
		"ref_id": describe("string", descRef), "line_number": describe("integer", descLineNumber),
		"char_offset": describe("integer", descCharOffset), "char_limit": describe("integer", descCharLimit),
	}, "ref_id", "line_number")
}

func grepSchema() json.RawMessage {
	return object(map[string]any{
		"ref_id": describe("string", descRef), "pattern": describe("string", descPattern), "regex": describe("boolean", descRegex),
		"before": describe("integer", descBefore), "after": describe("integer", descAfter), "max_matches": describe("integer", descMatches),
	}, "ref_id", "pattern")
}

// object is the schema of an object that has these properties and no others.
func object(properties map[string]any, required ...string) json.RawMessage {
	text, _ := json.Marshal(map[string]any{ // of strings and maps
		"type": "object", "properties": properties, "additionalProperties": false, "required": required,
	})
	return text
}
