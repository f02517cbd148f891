package omp

import (
	"encoding/json"

	"troupe/dialects"
)

// bashSchema is the schema of the tool bash: async is in it while it is enabled
// head and tail while limits are taken.
func bashSchema(s Settings) json.RawMessage {
	env := dialects.Describe("object", descEnv)
	env["additionalProperties"] = map[string]any{"type": "string"}
	all := map[string]any{
		"command": dialects.Describe("string", descCommand),
		"env":     env,
		"timeout": dialects.Describe("number", descTimeout),
		"cwd":     dialects.Describe("string", descCwd),
		"pty":     dialects.Describe("boolean", descPty),
	}
	if s.AsyncEnabled {
		all["async"] = dialects.Describe("boolean", descAsync)
	}
	if s.StripTrailingHeadTail {
		all["head"], all["tail"] = dialects.Describe("integer", descHead), dialects.Describe("integer", descTail)
	}
	return dialects.Object(all, "command")
}

func jobSchema() json.RawMessage {
	ids := func(description string) map[string]any {
		p := dialects.Describe("array", description)
		p["items"] = map[string]any{"type": "string"}
		return p
	}
	return dialects.Object(map[string]any{"list": dialects.Describe("boolean", descList), "poll": ids(descPoll), "cancel": ids(descCancel)})
}
