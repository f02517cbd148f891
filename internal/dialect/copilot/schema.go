package copilot

import (
	"encoding/json"
	"fmt"

	"troupe/internal/dialect"
)

func executeSchema(s Settings) json.RawMessage {
	mode := dialect.Describe("string", descMode)
	mode["enum"] = []string{ModeSync, ModeAsync}
	return dialect.ObjectSchema(map[string]any{
		"command": dialect.Describe("string", descCommand), "description": dialect.Describe("string", descDescription),
		"shellId": shellID(descShellID), "mode": mode, "detach": dialect.Describe("boolean", descDetach),
		"initial_wait": dialect.Describe("number", fmt.Sprintf(descInitialWait, spoken(s.InitialWait))),
	}, "command", "description")
}

func readSchema() json.RawMessage {
	return dialect.ObjectSchema(map[string]any{"shellId": shellID(descTheShell), "delay": dialect.Describe("number", descDelay)}, "shellId", "delay")
}

func writeSchema() json.RawMessage {
	return dialect.ObjectSchema(map[string]any{
		"shellId": shellID(descTheShell), "input": dialect.Describe("string", descInput), "delay": dialect.Describe("number", descDelayWrite),
	}, "shellId", "delay")
}

func stopSchema() json.RawMessage {
	return dialect.ObjectSchema(map[string]any{"shellId": shellID(descTheShell)}, "shellId")
}

// shellID returns the schema of an id, which may be a number: some models pass 0 for "0".
func shellID(description string) map[string]any {
	return map[string]any{"type": []string{"string", "integer"}, "description": description}
}
