package tasks

import (
	"encoding/json"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The states of a task; the last three are final.
const (
	working       = "working"
	inputRequired = "input_required"
	completed     = "completed"
	failed        = "failed"
	cancelled     = "cancelled"
)

// seed is a task in the reply to tools/call. Times are in UTC, durations in whole
// milliseconds.
type seed struct {
	mcp.ResultBase
	ResultType    string `json:"resultType"`
	TaskID        string `json:"taskId"`
	Status        string `json:"status"`
	StatusMessage string `json:"statusMessage,omitempty"`
	CreatedAt     string `json:"createdAt"`
	LastUpdatedAt string `json:"lastUpdatedAt"`
	TTL           *int64 `json:"ttlMs"` // from createdAt; null while the task runs
	Poll          int64  `json:"pollIntervalMs"`
}

// detail is a task in the reply to tasks/get, with the fields of its state.
type detail struct {
	seed
	Result        json.RawMessage     `json:"result,omitempty"`
	Error         *jsonrpc.Error      `json:"error,omitempty"`
	InputRequests mcp.InputRequestMap `json:"inputRequests,omitempty"`
}

// ack is the reply to tasks/update and tasks/cancel.
type ack struct {
	mcp.ResultBase
	ResultType string `json:"resultType"`
}

func acknowledged() *ack { return &ack{ResultType: "complete"} }

// about has the parameters of tasks/get and tasks/cancel.
type about struct {
	mcp.ParamsBase
	TaskID string `json:"taskId"`
}

// update has the parameters of tasks/update. A response without a question may have any
// form.
type update struct {
	mcp.ParamsBase
	TaskID         string                     `json:"taskId"`
	InputResponses map[string]json.RawMessage `json:"inputResponses"`
}

// inlined returns a result in the form of a tools/call reply.
func inlined(result *mcp.CallToolResult) (json.RawMessage, error) {
	text, err := json.Marshal(result)
	if err != nil {
		return nil, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, err
	}
	fields["resultType"] = json.RawMessage(`"complete"`)
	return json.Marshal(fields)
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

// refusal returns a protocol error.
func refusal(code int64, message string) error {
	return &jsonrpc.Error{Code: code, Message: message}
}

func unknownTask() error {
	return refusal(jsonrpc.CodeInvalidParams, "unknown task; it may have expired")
}

// notNamed returns the error for headers that name another task than the body.
func notNamed() error {
	return refusal(mcp.CodeHeaderMismatch, "the header Mcp-Name is not the taskId of the request")
}

// notOffered returns the error for a client that did not declare the extension.
func notOffered() error {
	return &jsonrpc.Error{
		Code: mcp.CodeMissingRequiredClientCapabilities, Message: "the client has not declared the extension " + Extension,
		Data: json.RawMessage(`{"requiredCapabilities":{"extensions":{"` + Extension + `":{}}}}`),
	}
}
