package web

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// sessions counts the sessions of revisions that have them and ends idle ones. The
// SDK's own timeout would end the session of a client that listens.
type sessions struct {
	max  int
	idle time.Duration

	mu      sync.Mutex
	closed  bool
	opening int // requests that may start a session
	open    map[string]*session
}

type session struct {
	server *mcp.Server
	life   *mcp.ServerSession
	calls  context.CancelFunc // ends the calls that EndCalls watches
	timer  *time.Timer        // runs while no request is open
	busy   int                // open requests, including streams
}

// end ends a session without waiting for its calls; Close of the SDK waits for them.
func (s *session) end() {
	s.calls()
	go func() { _ = s.life.Close() }()
}

func newSessions(limit int, idle time.Duration) *sessions {
	return &sessions{max: limit, idle: idle, open: map[string]*session{}}
}

// begin passes on a message without a session and records the session that it starts.
func (s *sessions) begin(w http.ResponseWriter, r *http.Request, said requestRevision, server func(*http.Request) *mcp.Server, next http.Handler) {
	if !s.reserve() {
		w.Header().Set("Retry-After", "60")
		refuse(w, http.StatusServiceUnavailable, codeRefused, said.id, "too many sessions are open: end one with DELETE, then try again")
		return
	}
	its := server(r)
	calls, end := context.WithCancel(context.Background())
	answer := &answer{ResponseWriter: w, before: sync.OnceFunc(func() {
		s.began(its, w.Header().Get("Mcp-Session-Id"), end)
	})}
	defer answer.before()
	r = r.WithContext(context.WithValue(r.Context(), callsKey{}, calls))
	next.ServeHTTP(answer, choose(r, its))
}

// answer calls before ahead of the first byte of a reply: a client may send the next
// request of the session at once.
type answer struct {
	http.ResponseWriter
	before func()
}

func (a *answer) WriteHeader(status int) {
	a.before()
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(p []byte) (int, error) {
	a.before()
	return a.ResponseWriter.Write(p)
}

func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter } // for http.ResponseController

func (s *sessions) reserve() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.open)+s.opening >= s.max {
		return false
	}
	s.opening++
	return true
}

// began turns a reservation into a session if one with this id exists.
func (s *sessions) began(server *mcp.Server, id string, end context.CancelFunc) {
	life := find(server, id)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opening--
	if life == nil {
		end()
		return // not an initialize request, or the session has ended
	}
	it := &session{server: server, life: life, calls: end}
	if s.closed {
		it.end()
		return
	}
	it.timer = time.AfterFunc(s.idle, func() { s.expire(id) })
	s.open[id] = it
	go s.watch(id, life)
}

func find(server *mcp.Server, id string) *mcp.ServerSession {
	if server == nil || id == "" {
		return nil
	}
	for life := range server.Sessions() {
		if life.ID() == id {
			return life
		}
	}
	return nil
}

// watch frees the place of a session when it has ended.
func (s *sessions) watch(id string, life *mcp.ServerSession) {
	_ = life.Wait() // the reason does not matter
	s.mu.Lock()
	defer s.mu.Unlock()
	if it := s.open[id]; it != nil {
		it.calls()
		it.timer.Stop()
		delete(s.open, id)
	}
}

// serve passes on a request of a session, which is not idle meanwhile.
func (s *sessions) serve(w http.ResponseWriter, r *http.Request, id string, next http.Handler) {
	defer s.leave(id)
	next.ServeHTTP(w, choose(r, s.enter(id, r.Method == http.MethodDelete)))
}

func (s *sessions) enter(id string, last bool) *mcp.Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	it := s.open[id]
	if it == nil {
		return nil // the SDK knows it or refuses it
	}
	if last {
		it.calls() // the SDK waits for them
	}
	it.busy++
	it.timer.Stop()
	return it.server
}

func (s *sessions) leave(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	it := s.open[id]
	if it == nil || it.busy == 0 {
		return
	}
	it.busy--
	if it.busy == 0 {
		it.timer.Reset(s.idle)
	}
}

// expire ends a session, unless a request has just arrived.
func (s *sessions) expire(id string) {
	s.mu.Lock()
	it := s.open[id]
	defer s.mu.Unlock()
	if it != nil && it.busy == 0 {
		it.end()
	}
}

// close ends all sessions and refuses new ones.
func (s *sessions) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, it := range s.open {
		it.end()
	}
}
