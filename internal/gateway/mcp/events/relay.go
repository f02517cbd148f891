package events

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"troupe/internal/gateway/mcp/relay"
)

// Keys in _meta of a stream's request: its id, which the SDK does not give to a handler,
// and over HTTP the name of its connection.
const (
	idKey         = "troupe/requestId"
	connectionKey = "troupe/connection"
)

// writeTimeout bounds one write to a client that does not read. Its cursor brings it back.
const writeTimeout = 30 * time.Second

// Relay passes on what a stream needs and the SDK does not give it. One relay may serve
// many servers.
type Relay struct {
	mu   sync.Mutex
	open map[string]context.Context // of requests over HTTP, by the name of the connection
}

// NewRelay returns a Relay.
func NewRelay() *Relay { return &Relay{open: map[string]context.Context{}} }

// Transport lets clients of a transport open streams.
func (l *Relay) Transport(t mcp.Transport) mcp.Transport {
	return relay.Transport(t, func(r *jsonrpc.Request) {
		if r.Method == streamMethod && r.IsCall() {
			r.Params = identified(r.Params, r.ID, "")
		}
	})
}

// Handler lets clients of a streamable HTTP handler open streams. It reads the bodies of
// requests that may open one, up to maxBody bytes; the inner handler refuses a longer one.
//
// A stream ends with its connection, also in revisions in which other calls go on: a client
// continues with its cursor.
func (l *Relay) Handler(maxBody int64, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		method := r.Header.Get("Mcp-Method") // older revisions have none
		if r.Method != http.MethodPost || method != "" && method != streamMethod {
			next.ServeHTTP(w, r)
			return
		}
		body, with, err := relay.Body(w, r, maxBody)
		call := opening(body)
		if err != nil || call == nil {
			next.ServeHTTP(w, with(body))
			return
		}
		name := rand.Text()
		call.Params = identified(call.Params, call.ID, name)
		if whole, err := jsonrpc.EncodeMessage(call); err == nil {
			body = whole
		}
		l.mu.Lock()
		l.open[name] = r.Context()
		l.mu.Unlock()
		defer func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			delete(l.open, name)
		}()
		patient := &timedWriter{w, http.NewResponseController(w)}
		defer func() { _ = patient.rc.SetWriteDeadline(time.Time{}) }() // a writer without deadlines has none to remove
		next.ServeHTTP(relay.Writer(patient), with(body))
	})
}

// connection returns the context of a connection, nil if that has ended.
func (l *Relay) connection(name string) context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open[name]
}

// opening returns the request that a body opens a stream with, nil if it is another one.
func opening(body []byte) *jsonrpc.Request {
	if !bytes.Contains(body, []byte("stream")) { // the slash before it may be escaped
		return nil
	}
	m, err := jsonrpc.DecodeMessage(body)
	if r, ok := m.(*jsonrpc.Request); ok && err == nil && r.Method == streamMethod && r.IsCall() {
		return r
	}
	return nil
}

// identified adds the id of a request, and the name of its connection, to the parameters.
// Invalid ones are left for the SDK to refuse.
func identified(params json.RawMessage, id jsonrpc.ID, connection string) json.RawMessage {
	fields, meta := map[string]json.RawMessage{}, map[string]any{}
	if params != nil && json.Unmarshal(params, &fields) != nil || fields == nil {
		return params
	}
	if given := fields["_meta"]; given != nil && json.Unmarshal(given, &meta) != nil || meta == nil {
		return params
	}
	meta[idKey], meta[connectionKey] = id.Raw(), connection
	var err error
	if fields["_meta"], err = json.Marshal(meta); err != nil {
		return params
	}
	whole, err := json.Marshal(fields)
	if err != nil {
		return params
	}
	return whole
}

// timedWriter breaks the connection of a client that does not read.
type timedWriter struct {
	http.ResponseWriter
	rc *http.ResponseController
}

// Write implements http.ResponseWriter.
func (w *timedWriter) Write(p []byte) (int, error) {
	_ = w.rc.SetWriteDeadline(time.Now().Add(writeTimeout)) // a writer without deadlines blocks
	return w.ResponseWriter.Write(p)
}

// Unwrap serves http.ResponseController.
func (w *timedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
