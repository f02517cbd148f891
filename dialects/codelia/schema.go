package codelia

import (
	"encoding/json"

	"troupe/dialects"
)

func cacheSchema() json.RawMessage {
	return dialects.Object(map[string]any{
		"ref_id": dialects.Describe("string", descRef), "offset": dialects.Describe("integer", descOffset), "limit": dialects.Describe("integer", descLimit),
		"head": dialects.Describe("integer", descHead), "tail": dialects.Describe("integer", descTail),
	}, "ref_id")
}

func lineSchema() json.RawMessage {
	return dialects.Object(map[string]any{
		"ref_id": dialects.Describe("string", descRef), "line_number": dialects.Describe("integer", descLineNumber),
		"char_offset": dialects.Describe("integer", descCharOffset), "char_limit": dialects.Describe("integer", descCharLimit),
	}, "ref_id", "line_number")
}

func grepSchema() json.RawMessage {
	return dialects.Object(map[string]any{
		"ref_id": dialects.Describe("string", descRef), "pattern": dialects.Describe("string", descPattern), "regex": dialects.Describe("boolean", descRegex),
		"before": dialects.Describe("integer", descBefore), "after": dialects.Describe("integer", descAfter), "max_matches": dialects.Describe("integer", descMatches),
	}, "ref_id", "pattern")
}
