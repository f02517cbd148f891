package tasks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	listenMethod = "subscriptions/listen"
	noticeMethod = "notifications/tasks"
)

// Transport lets clients of a transport subscribe to their tasks. Without it they can
// only poll.
func Transport(t mcp.Transport) mcp.Transport { return &relayed{t} }

type relayed struct{ mcp.Transport }

// Connect implements mcp.Transport.
func (t *relayed) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &connection{c}, nil
}

type connection struct{ mcp.Connection }

// Read implements mcp.Connection.
func (c *connection) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if r, ok := m.(*jsonrpc.Request); ok && err == nil && r.Method == listenMethod {
		r.Params = lift(r.Params)
	}
	return m, err
}

// Write implements mcp.Connection.
func (c *connection) Write(ctx context.Context, m jsonrpc.Message) error {
	if r, ok := m.(*jsonrpc.Request); ok {
		if params, marked := unmark(r.Params); marked {
			m = &jsonrpc.Request{Method: noticeMethod, Params: params}
		}
	}
	return c.Connection.Write(ctx, m)
}

// Handler lets clients of a streamable HTTP handler subscribe to their tasks. Without
// it they can only poll. It reads the bodies of subscriptions and of task requests, up
// to maxBody bytes; the inner handler refuses a longer one.
func Handler(maxBody int64, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		method := r.Header.Get("Mcp-Method")
		about := slices.Contains(methods, method)
		if r.Method != http.MethodPost || method != listenMethod && !about {
			next.ServeHTTP(w, r)
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		switch {
		case about && err == nil && misnamed(w, r, body):
			return
		case !about:
			body, w = liftCall(body), &stream{ResponseWriter: w}
		}
		r = r.WithContext(r.Context()) // a copy: the body belongs to the caller
		r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), failing{err}))
		next.ServeHTTP(w, r)
	})
}

// misnamed refuses a request whose headers name another task than its body, and reports
// whether it did. The middleware cannot set the status that the refusal needs.
func misnamed(w http.ResponseWriter, r *http.Request, body []byte) bool {
	m, err := jsonrpc.DecodeMessage(body)
	call, ok := m.(*jsonrpc.Request)
	if err != nil || !ok || r.Header.Get("Mcp-Protocol-Version") < firstRevision {
		return false
	}
	var params map[string]json.RawMessage
	var id string
	if json.Unmarshal(call.Params, &params) != nil || json.Unmarshal(params["taskId"], &id) != nil || namedAs(r.Header, id) {
		return false
	}
	answer, err := jsonrpc.EncodeMessage(&jsonrpc.Response{ID: call.ID, Error: notNamed()})
	if err != nil {
		return false
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	_, _ = w.Write(answer) // fails only if the client has left
	return true
}

// failing returns the error of a body to its next reader.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) {
	if f.err == nil {
		return 0, io.EOF
	}
	return 0, f.err
}

// stream rewrites the events that the SDK writes, one Write each.
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

// reveal turns an event with a marked message into a task notification.
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
		params, marked := unmark(m["params"])
		if !marked {
			continue
		}
		m["method"], m["params"] = json.RawMessage(`"`+noticeMethod+`"`), params
		if whole, err := json.Marshal(m); err == nil {
			lines[i] = slices.Concat([]byte("data: "), whole)
		}
	}
	return bytes.Join(lines, []byte("\n"))
}

// liftCall applies lift to a whole message and returns any other message unchanged.
func liftCall(body []byte) []byte {
	var m map[string]json.RawMessage
	if json.Unmarshal(body, &m) != nil || m["params"] == nil {
		return body
	}
	m["params"] = lift(m["params"])
	whole, err := json.Marshal(m)
	if err != nil {
		return body
	}
	return whole
}

// lift copies the ids of a subscription to where the SDK keeps them. It leaves invalid
// parameters for the SDK to refuse.
func lift(params json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	var meta map[string]json.RawMessage
	var wants struct {
		TaskIDs json.RawMessage `json:"taskIds"`
	}
	err := json.Unmarshal(params, &fields)
	if err == nil {
		err = errors.Join(json.Unmarshal(fields["notifications"], &wants), json.Unmarshal(fields["_meta"], &meta))
	}
	if err != nil || wants.TaskIDs == nil || meta == nil {
		return params
	}
	meta[idsKey] = wants.TaskIDs
	if fields["_meta"], err = json.Marshal(meta); err != nil {
		return params
	}
	lifted, err := json.Marshal(fields)
	if err != nil {
		return params
	}
	return lifted
}

// unmark removes the mark from the parameters of a notice and reports whether there was
// one.
func unmark(params json.RawMessage) (json.RawMessage, bool) {
	if !bytes.Contains(params, []byte(markKey)) {
		return nil, false
	}
	var fields map[string]json.RawMessage
	var meta map[string]json.RawMessage
	if json.Unmarshal(params, &fields) != nil || json.Unmarshal(fields["_meta"], &meta) != nil || meta[markKey] == nil {
		return nil, false
	}
	delete(meta, markKey)
	var err error
	if fields["_meta"], err = json.Marshal(meta); err != nil {
		return nil, false
	}
	plain, err := json.Marshal(fields)
	return plain, err == nil
}
