package codelia

import (
	"context"
	"encoding/json"

	"troupe/internal/dialect/codelia"
	"troupe/internal/gateway/jsonrpc"
)

// protocolVersion is the version of the protocol that codelia 0.1 speaks.
const protocolVersion = "0"

// greeting holds what is used of the parameters of initialize. Clients may send more: later
// versions add capabilities.
type greeting struct {
	Version string `json:"protocol_version"`
	Client  struct {
		Name, Version string
	} `json:"client"`
	UI struct {
		Confirm bool `json:"supports_confirm"`
	} `json:"ui_capabilities"`
}

// greeted is the result of initialize.
type greeted struct {
	Version      string               `json:"protocol_version"`
	Server       named                `json:"server"`
	Capabilities codelia.Capabilities `json:"server_capabilities"`
}

// named names a program.
type named struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

func (c *connection) initialize(_ context.Context, params json.RawMessage) (any, error) {
	var g greeting
	if params != nil {
		if err := json.Unmarshal(params, &g); err != nil {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "invalid params: " + err.Error()}
		}
	}
	c.asks.Store(g.UI.Confirm)
	return greeted{Version: protocolVersion, Server: named{"troupe", c.version}, Capabilities: codelia.Supported()}, nil
}
