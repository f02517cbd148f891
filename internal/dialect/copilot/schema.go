package copilot

import (
	"encoding/json"
	"fmt"

	"troupe/internal/dialect"
)

func executeSchema(s Settings) json.RawMessage {
	return dialect.ObjectSchema(map[string]any{
		"command": dialect.Describe("string", descCommand), "description": dialect.Describe("string", descDescription),
		"shellId": dialect.Describe("string", descShellID), "mode": dialect.OneOf(descMode, ModeSync, ModeAsync), "detach": dialect.Describe("boolean", descDetach),
		"initial_wait": dialect.Describe("number", fmt.Sprintf(descInitialWait, spoken(s.InitialWait))),
	}, "command")
}

func readSchema() json.RawMessage {
	return dialect.ObjectSchema(map[string]any{"shellId": dialect.Describe("string", descTheShell), "delay": dialect.Describe("number", descDelay)}, "shellId", "delay")
}

func writeSchema() json.RawMessage {
	return dialect.ObjectSchema(map[string]any{
		"shellId": dialect.Describe("string", descTheShell), "input": dialect.Describe("string", descInput), "delay": dialect.Describe("number", descDelayWrite),
	}, "shellId", "delay")
}

func stopSchema() json.RawMessage {
	return dialect.ObjectSchema(map[string]any{"shellId": dialect.Describe("string", descTheShell)}, "shellId")
}
