package copilot

import (
	"encoding/json"
	"fmt"

	"troupe/dialects"
)

func executeSchema(s Settings) json.RawMessage {
	mode := dialects.Describe("string", descMode)
	mode["enum"] = []string{ModeSync, ModeAsync}
	return dialects.Object(map[string]any{
		"command": dialects.Describe("string", descCommand), "description": dialects.Describe("string", descDescription),
		"shellId": shellID(descShellID), "mode": mode, "detach": dialects.Describe("boolean", descDetach),
		"initial_wait": dialects.Describe("number", fmt.Sprintf(descInitialWait, spoken(s.InitialWait))),
	}, "command", "description")
}

func readSchema() json.RawMessage {
	return dialects.Object(map[string]any{"shellId": shellID(descTheShell), "delay": dialects.Describe("number", descDelay)}, "shellId", "delay")
}

func writeSchema() json.RawMessage {
	return dialects.Object(map[string]any{
		"shellId": shellID(descTheShell), "input": dialects.Describe("string", descInput), "delay": dialects.Describe("number", descDelayWrite),
	}, "shellId", "delay")
}

func stopSchema() json.RawMessage {
	return dialects.Object(map[string]any{"shellId": shellID(descTheShell)}, "shellId")
}

// shellID may be a number, too: models take "0" for one.
func shellID(description string) map[string]any {
	return map[string]any{"type": []string{"string", "integer"}, "description": description}
}
