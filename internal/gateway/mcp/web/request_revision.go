package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// firstStateless is the first revision in which each request stands alone.
const firstStateless = "2026-07-28"

// requestRevision is the part of a request that decides its revision.
type requestRevision struct {
	post    bool
	version string // from the header or the body
	session string
	method  string
	id      json.RawMessage
	inexact json.RawMessage // an id that a response could not repeat
}

// stateless reports whether the request is of a revision without sessions. The dates of
// revisions sort as text.
func (s requestRevision) stateless() bool {
	return s.version >= firstStateless || s.post && s.session == "" && s.method == "server/discover"
}

// opens reports whether the request may start a session. The SDK makes one for any
// message without a session and ends it unless the message is initialize.
func (s requestRevision) opens() bool { return s.post && s.session == "" }

// inspect reads the revision of a request and restores its body. It looks for the
// revision in the body if neither a session nor a header names it.
func inspect(r *http.Request) (requestRevision, error) {
	s := requestRevision{
		post:    r.Method == http.MethodPost,
		version: r.Header.Get("Mcp-Protocol-Version"),
		session: r.Header.Get("Mcp-Session-Id"),
	}
	if !s.post {
		return s, nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return s, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if s.inexact = inexact(body); s.inexact != nil || s.session != "" || s.version >= firstStateless {
		return s, nil
	}
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct {
			Meta map[string]any `json:"_meta"`
		}
	}
	if json.Unmarshal(body, &m) != nil {
		return s, nil // the SDK reports what is wrong with it
	}
	s.id, s.method = m.ID, m.Method
	if version, ok := m.Params.Meta[mcp.MetaKeyProtocolVersion].(string); ok && s.version == "" {
		s.version = version
	}
	return s, nil
}

// inexact returns the first id in a body that a response would change, nil if there is
// none.
func inexact(body []byte) json.RawMessage {
	type head struct {
		ID json.RawMessage `json:"id"`
	}
	all := make([]head, 1)
	if json.Unmarshal(body, &all[0]) != nil && json.Unmarshal(body, &all) != nil {
		return nil // the SDK reports what is wrong with it
	}
	for _, m := range all {
		if !Exact(m.ID) {
			return m.ID
		}
	}
	return nil
}

// Exact reports whether a response repeats an id unchanged: the SDK keeps a number as a
// float, then as an integer.
func Exact(id json.RawMessage) bool {
	if len(id) == 0 || id[0] != '-' && (id[0] < '0' || id[0] > '9') {
		return true
	}
	const exact = 1 << 53
	n, err := strconv.ParseInt(string(id), 10, 64)
	return err == nil && n >= -exact && n <= exact
}

// Inexact returns the error for an id that is not exact.
func Inexact(id json.RawMessage) string {
	return fmt.Sprintf("the id %s would not come back unchanged; use a whole number of at most 2^53 or a string", id)
}

// refuseBody answers a request whose body could not be read.
func refuseBody(w http.ResponseWriter, err error) {
	if big, ok := errors.AsType[*http.MaxBytesError](err); ok {
		http.Error(w, fmt.Sprintf("the body has more than %d bytes", big.Limit), http.StatusRequestEntityTooLarge)
		return
	}
	http.Error(w, "cannot read the body", http.StatusBadRequest)
}

// refuse answers a message with a JSON-RPC error.
func refuse(w http.ResponseWriter, status int, code int64, id json.RawMessage, message string) {
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	body, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": message},
	})
	if err != nil {
		http.Error(w, message, status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // fails only if the client has left
}

// Codes of JSON-RPC: an invalid request, and the first code for servers.
const (
	codeInvalid = -32600
	codeRefused = -32000
)
