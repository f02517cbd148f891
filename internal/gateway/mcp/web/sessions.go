package web

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// sessions counts the sessions of the revisions that have them, and ends those
// that nobody uses. The SDK's own timeout does not know that a client listens,
// and would end its session.
type sessions struct {
	max  int
	idle time.Duration

	mu      sync.Mutex
	closed  bool
	opening int // requests that may turn out to begin a session
	open    map[string]*session
}

type session struct {
	server *mcp.Server
	life   *mcp.ServerSession
	calls  context.CancelFunc // ends what EndCalls watches
	timer  *time.Timer        // runs while no request is open
	busy   int                // requests that are open, streams included
}

// end does not wait for the calls that are under way, as Close of the SDK does.
func (s *session) end() {
	s.calls()
	go func() { _ = s.life.Close() }()
}

func newSessions(limit int, idle time.Duration) *sessions {
	return &sessions{max: limit, idle: idle, open: map[string]*session{}}
}

// begin hands on a message that has no session, and remembers the session that
// it began.
func (s *sessions) begin(w http.ResponseWriter, r *http.Request, said said, server func(*http.Request) *mcp.Server, next http.Handler) {
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

// answer does something before a client can read its first byte: the next
// request of a session may come before the one that began it is done.
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

// began turns a reservation into a session, if there is one of this id.
func (s *sessions) began(server *mcp.Server, id string, end context.CancelFunc) {
	life := find(server, id)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opening--
	if life == nil {
		end()
		return // it was no initialize, or it is over already
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

// watch gives the place of a session back when it is over.
func (s *sessions) watch(id string, life *mcp.ServerSession) {
	_ = life.Wait() // how it ended is nobody's business
	s.mu.Lock()
	defer s.mu.Unlock()
	if it := s.open[id]; it != nil {
		it.calls()
		it.timer.Stop()
		delete(s.open, id)
	}
}

// serve hands on a request of a session, which is not idle meanwhile.
func (s *sessions) serve(w http.ResponseWriter, r *http.Request, id string, next http.Handler) {
	defer s.leave(id)
	next.ServeHTTP(w, choose(r, s.enter(id, r.Method == http.MethodDelete)))
}

func (s *sessions) enter(id string, last bool) *mcp.Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	it := s.open[id]
	if it == nil {
		return nil // the SDK knows it, or says that it does not
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

// expire ends a session, unless a request came just now.
func (s *sessions) expire(id string) {
	s.mu.Lock()
	it := s.open[id]
	defer s.mu.Unlock()
	if it != nil && it.busy == 0 {
		it.end()
	}
}

// close ends all sessions, and lets no other begin.
func (s *sessions) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, it := range s.open {
		it.end()
	}
}
