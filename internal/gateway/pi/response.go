package pi

import "encoding/json"

// ready is the first record of a server. omp's client waits for it; pi's passes it on as an
// event.
type ready struct {
	Type string `json:"type"`
}

// response answers one request. ID is that of the request, nil if it has none.
type response struct {
	ID      json.RawMessage `json:"id,omitempty"`
	Type    string          `json:"type"`
	Command string          `json:"command"`
	Success bool            `json:"success"`
	Data    any             `json:"data,omitempty"`
	Error   string          `json:"error,omitempty"`
}

// outputEvent carries the next piece of a command's output.
type outputEvent struct {
	Type  string          `json:"type"`
	ID    json.RawMessage `json:"id,omitempty"`
	Delta string          `json:"delta"`
}

// Types of records.
const (
	typeReady    = "ready"
	typeResponse = "response"
	typeOutput   = "bash_execution_update"
)

// succeeded answers a request that has done its work.
func succeeded(r request, data any) response {
	return response{ID: r.id, Type: typeResponse, Command: r.kind, Success: true, Data: data}
}

// failed answers a request with an error.
func failed(r request, err error) response {
	return response{ID: r.id, Type: typeResponse, Command: r.kind, Error: err.Error()}
}
