package acp

import (
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Parameters of the client's requests and notifications.
type (
	initializeParams struct {
		ProtocolVersion    *int64 `json:"protocolVersion"`
		ClientCapabilities struct {
			Terminal bool `json:"terminal"`
		} `json:"clientCapabilities"`
	}
	newSessionParams struct {
		Cwd        string           `json:"cwd"`
		MCPServers []jsontext.Value `json:"mcpServers"` // an agent without a model has no use for them
	}
	promptParams struct {
		SessionID string        `json:"sessionId"`
		Prompt    []promptBlock `json:"prompt"`
	}
	sessionParams struct {
		SessionID string `json:"sessionId"`
	}
	cancelRequestParams struct {
		RequestID jsontext.Value `json:"requestId"`
	}
)

// Results of the client's requests.
type (
	initializeResult struct {
		ProtocolVersion int               `json:"protocolVersion"`
		Capabilities    agentCapabilities `json:"agentCapabilities"`
		Info            implementation    `json:"agentInfo"`
		AuthMethods     []struct{}        `json:"authMethods"`
	}
	agentCapabilities struct {
		LoadSession bool `json:"loadSession"`
		Prompt      struct {
			Image           bool `json:"image"`
			Audio           bool `json:"audio"`
			EmbeddedContext bool `json:"embeddedContext"`
		} `json:"promptCapabilities"`
		Session struct {
			Close struct{} `json:"close"` // session/close is there
		} `json:"sessionCapabilities"`
	}
	implementation struct {
		Name    string `json:"name"`
		Title   string `json:"title"`
		Version string `json:"version"`
	}
	promptResult struct {
		StopReason string `json:"stopReason"`
	}
)

// Parameters of terminal requests to the client.
type (
	createParams struct {
		SessionID string     `json:"sessionId"`
		Command   string     `json:"command"` // a program
		Args      []string   `json:"args"`
		Env       []variable `json:"env"`
		Cwd       string     `json:"cwd"`
		Most      int        `json:"outputByteLimit"`
	}
	variable struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	terminalParams struct {
		SessionID  string `json:"sessionId"`
		TerminalID string `json:"terminalId"`
	}
)

// Results of terminal requests.
type (
	createResult struct {
		TerminalID string `json:"terminalId"`
	}
	outputResult struct {
		Output    string      `json:"output"`
		Truncated bool        `json:"truncated"`
		Exit      *exitStatus `json:"exitStatus"`
	}
	exitStatus struct {
		Code   *int   `json:"exitCode"`
		Signal string `json:"signal"`
	}
)

// Parameters of the notification session/update.
type (
	updateParams struct {
		SessionID string   `json:"sessionId"`
		Update    toolCall `json:"update"`
	}
	// toolCall is the state of a command, or what has changed of it.
	toolCall struct {
		Update    string     `json:"sessionUpdate"` // tool_call, then tool_call_update
		ID        string     `json:"toolCallId"`
		Title     string     `json:"title,omitempty"`
		Kind      string     `json:"kind,omitempty"`
		Status    string     `json:"status,omitempty"`
		Content   []content  `json:"content,omitempty"` // replaces the content before
		RawInput  *rawInput  `json:"rawInput,omitempty"`
		RawOutput *rawOutput `json:"rawOutput,omitempty"`
	}
	content struct {
		Type       string `json:"type"` // content or terminal
		Content    *block `json:"content,omitempty"`
		TerminalID string `json:"terminalId,omitempty"`
	}
	block struct {
		Type string `json:"type"` // text
		Text string `json:"text"`
	}
	rawInput struct {
		Command string `json:"command"`
	}
	// rawOutput is the result of the tool bash.
	rawOutput struct {
		Content  []block `json:"content"`
		Details  any     `json:"details,omitempty"`
		IsError  bool    `json:"isError,omitempty"`
		ExitCode *int    `json:"exitCode,omitempty"` // nil: none, or not yet
	}
)

// decodeParams decodes the parameters of a request.
func decodeParams(params jsontext.Value, to any) *rpcError {
	if len(params) == 0 {
		return refusal(codeInvalidParams, "params is missing")
	}
	err := json.Unmarshal(params, to)
	if e, ok := errors.AsType[*json.SemanticError](err); ok && e.JSONPointer != "" {
		return refusal(codeInvalidParams, "params%s has a wrong type: %s", e.JSONPointer, e.JSONKind)
	}
	if err != nil {
		return refusal(codeInvalidParams, "params has a wrong type")
	}
	return nil
}
