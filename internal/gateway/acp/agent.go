package acp

import (
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"

	"troupe/internal/dialect"
)

// protocolVersion is the version that the agent speaks, whatever the client asks for.
const protocolVersion = 1

// maxSessions bounds the sessions of a client: each may have a live shell.
const maxSessions = 64

// agent answers the requests of one client.
type agent struct {
	Options
	conn   *conn
	ctx    context.Context //nolint:containedctx // of all turns
	cancel context.CancelFunc
	work   sync.WaitGroup // turns, closes, and ends of terminals

	// Of the goroutine that listens:
	ready     bool // initialize was answered
	terminals bool // the client has terminals

	late atomic.Int64 // terminals that the client has not created, and that nothing waits for

	mu       sync.Mutex
	ending   bool // nothing new is started
	sessions map[string]*session
}

func newAgent(o Options, out io.Writer) *agent {
	a := &agent{Options: o, conn: newConn(out, o.Log), sessions: map[string]*session{}}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	return a
}

// start runs f beside the agent, which waits for it at its end. It returns false if that has
// begun.
func (a *agent) start(f func()) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ending {
		return false
	}
	a.work.Go(f)
	return true
}

// end cancels the turns, waits for their answers, and closes the sessions.
func (a *agent) end() {
	a.mu.Lock()
	a.ending = true
	a.mu.Unlock()
	a.cancel()
	a.work.Wait()
	var closing sync.WaitGroup
	for _, s := range a.all() {
		closing.Go(func() { a.closes(s) })
	}
	closing.Wait()
}

// closes ends a session that has no turn.
func (a *agent) closes(s *session) {
	ctx, cancel := context.WithTimeout(context.Background(), dialect.LeavePatience)
	defer cancel()
	if err := s.Close(ctx); err != nil {
		a.Log.Warn("cannot end a session", "session", s.id, "error", err)
	}
}

// serve handles a message. It waits for no command.
func (a *agent) serve(line []byte) {
	f, bad := parse(line)
	switch {
	case bad != nil:
		a.conn.refuse(f.id, bad)
	case f.response:
		a.conn.deliver(f)
	case f.id == nil:
		a.notified(f)
	default:
		a.requested(f)
	}
}

// requested answers a request, or starts what answers it.
func (a *agent) requested(f frame) {
	var result any
	var bad *rpcError
	switch f.method {
	case "initialize":
		result, bad = a.initialize(f.params)
	case "session/new":
		result, bad = a.newSession(f.params)
	case "session/prompt":
		bad = a.prompt(f)
	case "session/close":
		bad = a.closeSession(f)
	default:
		bad = refusal(codeNoMethod, "there is no method %.100q", f.method)
	}
	switch {
	case bad != nil:
		a.conn.refuse(f.id, bad)
	case result != nil:
		a.conn.answer(f.id, result)
	}
}

// notified handles a notification. It ignores one that means nothing here.
func (a *agent) notified(f frame) {
	switch f.method {
	case "session/cancel":
		var p sessionParams
		if decodeParams(f.params, &p) == nil {
			if s := a.session(p.SessionID); s != nil {
				s.cancel(nil)
			}
		}
	case "$/cancel_request":
		var p cancelRequestParams
		if decodeParams(f.params, &p) == nil && len(p.RequestID) > 0 {
			for _, s := range a.all() {
				s.cancel(func(t *turn) bool { return bytes.Equal(t.request, p.RequestID) })
			}
		}
	}
}

func (a *agent) initialize(params jsontext.Value) (any, *rpcError) {
	var p initializeParams
	if bad := decodeParams(params, &p); bad != nil {
		return nil, bad
	}
	if p.ProtocolVersion == nil {
		return nil, refusal(codeInvalidParams, "protocolVersion is missing")
	}
	a.ready, a.terminals = true, p.ClientCapabilities.Terminal
	return initializeResult{
		ProtocolVersion: protocolVersion, Info: implementation{Name: "troupe", Title: "troupe", Version: a.Version}, AuthMethods: []struct{}{},
	}, nil
}

func (a *agent) newSession(params jsontext.Value) (any, *rpcError) {
	var p newSessionParams
	bad := decodeParams(params, &p)
	switch {
	case bad != nil:
		return nil, bad
	case !a.ready:
		return nil, refusal(codeInvalidRequest, "the connection is not initialized; send initialize first")
	case !filepath.IsAbs(p.Cwd):
		return nil, refusal(codeInvalidParams, "cwd %.200q is no absolute path", p.Cwd)
	case len(a.all()) >= maxSessions:
		return nil, refusal(codeInvalidRequest, "there are %d sessions; close one with session/close first", maxSessions)
	}
	s := &session{agent: a, id: strings.ToLower(rand.Text())}
	place := Place{ID: s.id, Dir: p.Cwd}
	if a.terminals {
		s.remote = true
		place.Client = &terminals{agent: a, session: s.id}
	}
	opened, err := a.Open(place)
	if err != nil {
		return nil, refusalOf(err)
	}
	s.Session = opened
	if !a.add(s) {
		a.closes(s)
		return nil, errEnding
	}
	return sessionParams{SessionID: s.id}, nil
}

// add adds a session. It returns false if the agent is ending.
func (a *agent) add(s *session) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.ending {
		a.sessions[s.id] = s
	}
	return !a.ending
}

func (a *agent) prompt(f frame) *rpcError {
	var p promptParams
	if bad := decodeParams(f.params, &p); bad != nil {
		return bad
	}
	s := a.session(p.SessionID)
	if s == nil {
		return unknownSession(p.SessionID)
	}
	command, bad := commandOf(p.Prompt)
	if bad != nil {
		return bad
	}
	return s.begin(f.id, command)
}

// closeSession cancels the turn of a session, which is answered first, and ends the session.
func (a *agent) closeSession(f frame) *rpcError {
	var p sessionParams
	if bad := decodeParams(f.params, &p); bad != nil {
		return bad
	}
	s := a.session(p.SessionID)
	if s == nil || !s.leave() {
		return unknownSession(p.SessionID)
	}
	if !a.start(func() {
		s.wait()
		a.closes(s)
		a.mu.Lock()
		delete(a.sessions, s.id)
		a.mu.Unlock()
		a.conn.answer(f.id, struct{}{})
	}) {
		return errEnding
	}
	return nil
}

var errEnding = refusal(codeInternal, "the agent is ending")

func unknownSession(id string) *rpcError {
	return refusal(codeNotFound, "there is no session %.100q", id)
}

// session returns an open session, nil if there is none.
func (a *agent) session(id string) *session {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.sessions[id]
}

func (a *agent) all() []*session {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Collect(maps.Values(a.sessions))
}
