package tasks

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"troupe/internal/gateway/mcp/relay"
)

const (
	listenMethod = "subscriptions/listen"
	noticeMethod = "notifications/tasks"
)

// Transport lets clients of a transport subscribe to their tasks. Without it they can
// only poll.
func Transport(t mcp.Transport) mcp.Transport {
	return relay.Transport(t, func(r *jsonrpc.Request) {
		if r.Method == listenMethod {
			r.Params = lift(r.Params)
		}
	})
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
		body, with, err := relay.Body(w, r, maxBody)
		switch {
		case about && err == nil && misnamed(w, r, body):
			return
		case !about:
			body, w = liftCall(body), relay.Writer(w)
		}
		next.ServeHTTP(w, with(body))
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
