package relay

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Transport translates the marked messages of a transport. request, if not nil, may change
// each request of the client.
func Transport(t mcp.Transport, request func(*jsonrpc.Request)) mcp.Transport {
	return &relayed{t, request}
}

type relayed struct {
	mcp.Transport
	request func(*jsonrpc.Request)
}

// Connect implements mcp.Transport.
func (t *relayed) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &connection{c, t.request}, nil
}

type connection struct {
	mcp.Connection
	request func(*jsonrpc.Request)
}

// Read implements mcp.Connection.
func (c *connection) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if r, ok := m.(*jsonrpc.Request); ok && err == nil && c.request != nil {
		c.request(r)
	}
	return m, err
}

// Write implements mcp.Connection.
func (c *connection) Write(ctx context.Context, m jsonrpc.Message) error {
	if r, ok := m.(*jsonrpc.Request); ok {
		if method, params := unmark(r.Params); method != "" {
			m = &jsonrpc.Request{Method: method, Params: params}
		}
	}
	return c.Connection.Write(ctx, m)
}

// Writer translates the marked messages in the events that the SDK writes, one Write each.
func Writer(w http.ResponseWriter) http.ResponseWriter { return &stream{w} }

type stream struct{ http.ResponseWriter }

// Write implements http.ResponseWriter.
func (s *stream) Write(event []byte) (int, error) {
	if _, err := s.ResponseWriter.Write(reveal(event)); err != nil {
		return 0, err
	}
	return len(event), nil
}

// Unwrap serves http.ResponseController.
func (s *stream) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// reveal turns an event with a marked message into that of the notification.
func reveal(event []byte) []byte {
	if !bytes.Contains(event, []byte(markKey)) {
		return event
	}
	lines := bytes.Split(event, []byte("\n"))
	for i, line := range lines {
		data, ok := bytes.CutPrefix(line, []byte("data: "))
		if !ok {
			continue
		}
		var m map[string]json.RawMessage
		if json.Unmarshal(data, &m) != nil {
			continue
		}
		method, params := unmark(m["params"])
		if method == "" {
			continue
		}
		name, err := json.Marshal(method)
		m["method"], m["params"] = name, params
		if whole, failed := json.Marshal(m); err == nil && failed == nil {
			lines[i] = slices.Concat([]byte("data: "), whole)
		}
	}
	return bytes.Join(lines, []byte("\n"))
}

// unmark removes the mark from the parameters of a message. It returns the method that the
// mark names, "" if there is none.
func unmark(params json.RawMessage) (method string, plain json.RawMessage) {
	if !bytes.Contains(params, []byte(markKey)) {
		return "", nil
	}
	var fields, meta map[string]json.RawMessage
	if json.Unmarshal(params, &fields) != nil || json.Unmarshal(fields["_meta"], &meta) != nil || json.Unmarshal(meta[markKey], &method) != nil {
		return "", nil
	}
	delete(meta, markKey)
	var err error
	if fields["_meta"], err = json.Marshal(meta); err != nil {
		return "", nil
	}
	if plain, err = json.Marshal(fields); err != nil {
		return "", nil
	}
	return method, plain
}
