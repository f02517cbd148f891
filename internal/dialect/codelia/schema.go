package codelia

import (
	"encoding/json"

	"troupe/internal/dialect"
)

func cacheSchema() json.RawMessage {
	return dialect.ObjectSchema(map[string]any{
		"ref_id": dialect.Describe("string", descRef), "offset": dialect.Describe("integer", descOffset), "limit": dialect.Describe("integer", descLimit),
		"head": dialect.Describe("integer", descHead), "tail": dialect.Describe("integer", descTail),
	}, "ref_id")
}

func lineSchema() json.RawMessage {
	return dialect.ObjectSchema(map[string]any{
		"ref_id": dialect.Describe("string", descRef), "line_number": dialect.Describe("integer", descLineNumber),
		"char_offset": dialect.Describe("integer", descCharOffset), "char_limit": dialect.Describe("integer", descCharLimit),
	}, "ref_id", "line_number")
}

func grepSchema() json.RawMessage {
	return dialect.ObjectSchema(map[string]any{
		"ref_id": dialect.Describe("string", descRef), "pattern": dialect.Describe("string", descPattern), "regex": dialect.Describe("boolean", descRegex),
		"before": dialect.Describe("integer", descBefore), "after": dialect.Describe("integer", descAfter), "max_matches": dialect.Describe("integer", descMatches),
	}, "ref_id", "pattern")
}
