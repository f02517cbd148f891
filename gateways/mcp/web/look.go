package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// firstStateless is the first revision in which each request stands alone.
const firstStateless = "2026-07-28"

// said is what of a request tells which revision it speaks.
type said struct {
	post    bool
	version string // of the header, or of the body
	session string
	method  string
	id      json.RawMessage
}

// stateless reports whether the request is of a revision without sessions. The
// dates of revisions sort as text.
func (s said) stateless() bool {
	return s.version >= firstStateless || s.post && s.session == "" && s.method == "server/discover"
}

// opens reports whether the request may begin a session. The SDK makes one for
// any message without a session, and ends it when it was no initialize.
func (s said) opens() bool { return s.post && s.session == "" }

// look reads what the request says. It reads the body only of a message that
// has no session and no revision in its headers, and puts it back.
func look(r *http.Request) (said, error) {
	s := said{
		post:    r.Method == http.MethodPost,
		version: r.Header.Get("Mcp-Protocol-Version"),
		session: r.Header.Get("Mcp-Session-Id"),
	}
	if !s.post || s.session != "" || s.version >= firstStateless {
		return s, nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return s, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct {
			Meta map[string]any `json:"_meta"`
		}
	}
	if json.Unmarshal(body, &m) != nil {
		return s, nil // the SDK says what is wrong with it
	}
	s.id, s.method = m.ID, m.Method
	if version, ok := m.Params.Meta[mcp.MetaKeyProtocolVersion].(string); ok && s.version == "" {
		s.version = version
	}
	return s, nil
}

// refuseBody answers a request whose body could not be read.
func refuseBody(w http.ResponseWriter, err error) {
	var big *http.MaxBytesError
	if errors.As(err, &big) {
		http.Error(w, fmt.Sprintf("the body has more than %d bytes", big.Limit), http.StatusRequestEntityTooLarge)
		return
	}
	http.Error(w, "the body could not be read", http.StatusBadRequest)
}

// refuse answers a message with a JSON-RPC error.
func refuse(w http.ResponseWriter, status int, id json.RawMessage, message string) {
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	body, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": codeRefused, "message": message},
	})
	if err != nil {
		http.Error(w, message, status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // nobody to tell
}

// codeRefused is the first code that JSON-RPC leaves to servers.
const codeRefused = -32000
