package omp

import (
	"encoding/json"

	"troupe/internal/dialect"
)

// bashSchema returns the schema of the tool bash. It has async only if enabled,
// head and tail only if pipes become limits.
func bashSchema(s Settings) json.RawMessage {
	all := map[string]any{
		"command": dialect.Describe("string", descCommand),
		"env":     dialect.Variables(descEnv),
		"timeout": dialect.Describe("number", descTimeout),
		"cwd":     dialect.Describe("string", descCwd),
		"pty":     dialect.Describe("boolean", descPty),
	}
	if s.AsyncEnabled {
		all["async"] = dialect.Describe("boolean", descAsync)
	}
	if s.StripTrailingHeadTail {
		all["head"], all["tail"] = dialect.Describe("integer", descHead), dialect.Describe("integer", descTail)
	}
	return dialect.ObjectSchema(all, "command")
}

func jobSchema() json.RawMessage {
	return dialect.ObjectSchema(map[string]any{"list": dialect.Describe("boolean", descList), "poll": dialect.List(descPoll), "cancel": dialect.List(descCancel)})
}
