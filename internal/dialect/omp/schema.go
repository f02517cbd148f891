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
	if s.ZeroTimeoutDisables {
		all["timeout"] = dialect.Describe("number", descTimeout+descNoLimit)
	}
	if s.AsyncEnabled {
		ready := dialect.Describe("object", descReady)
		ready["properties"] = map[string]any{
			"log": dialect.Describe("string", descLog), "port": dialect.Describe("integer", descPort), "host": dialect.Describe("string", descHost),
			"timeout": dialect.Describe("number", descWithin),
		}
		all["async"], all["name"], all["ready"] = dialect.Describe("boolean", descAsync), dialect.Describe("string", descName), ready
	}
	if s.StripTrailingHeadTail {
		all["head"], all["tail"] = dialect.Describe("integer", descHead), dialect.Describe("integer", descTail)
	}
	return dialect.ObjectSchema(all, "command")
}

func jobSchema() json.RawMessage {
	return dialect.ObjectSchema(map[string]any{"list": dialect.Describe("boolean", descList), "poll": dialect.List(descPoll), "cancel": dialect.List(descCancel)})
}
