package tasks

import (
	"cmp"
	"context"
	"crypto/rand"
	"log/slog"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// DefaultTTL is long enough for a laptop that sleeps over lunch.
	DefaultTTL = time.Hour
	// DefaultPoll is short enough for a person who watches.
	DefaultPoll = time.Second
	// DefaultPatience is the time for a person to answer a question.
	DefaultPatience = 30 * time.Minute
	// DefaultPerClient is above the tasks of an agent, and bounds those that it
	// forgets.
	DefaultPerClient = 64
	// DefaultMax bounds the memory of results that no client fetches.
	DefaultMax = 1024
)

// Options configure a Store. Zero means the default of the same name.
type Options struct {
	TTL       time.Duration // time that a finished task is kept
	Poll      time.Duration // polling interval for clients
	Patience  time.Duration // time for the client to answer Task.Ask
	PerClient int           // tasks of one client, including finished ones
	Max       int           // tasks of all clients
	Live      int           // running tasks of one client; 0: PerClient
	Log       *slog.Logger  // receives panics; nil: discarded

	// Client returns the client of a request. Clients do not find each other's tasks.
	// The default is the session's id, which is "" for all without sessions.
	Client func(ctx context.Context, r mcp.Request) string
}

// Store holds the tasks of any number of servers.
type Store struct {
	options Options

	mu     sync.Mutex
	closed bool
	tasks  map[string]*Task
}

// New returns a Store without tasks. The caller ends it with Close.
func New(o Options) *Store {
	o.TTL = cmp.Or(o.TTL, DefaultTTL)
	o.Poll = cmp.Or(o.Poll, DefaultPoll)
	o.Patience = cmp.Or(o.Patience, DefaultPatience)
	o.PerClient = cmp.Or(o.PerClient, DefaultPerClient)
	o.Max = cmp.Or(o.Max, DefaultMax)
	o.Live = cmp.Or(o.Live, o.PerClient)
	if o.Client == nil {
		o.Client = func(_ context.Context, r mcp.Request) string { return r.GetSession().ID() }
	}
	return &Store{options: o, tasks: map[string]*Task{}}
}

// Close cancels all tasks and forgets them. Later work is done within its call.
func (s *Store) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.forget(func(*Task) bool { return true })
}

// begin makes a task for work, nil if there is no room. tasks/get finds the task from
// then on.
func (s *Store) begin(ctx context.Context, client string, l *later) *Task {
	now := time.Now()
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	t := &Task{
		store: s, id: rand.Text(), client: client, cancel: cancel,
		state: working, created: now, changed: now,
		asked: map[string]bool{}, pending: map[string]*question{}, followers: map[*subscription]bool{},
	}
	if !s.admit(t) {
		cancel()
		return nil
	}
	go func() {
		defer cancel()
		result, err := l.do(ctx, t, s.options.Log)
		t.end(result, err, ctx.Err() != nil)
		s.keep(t)
	}()
	return t
}

// admit adds a task. Above a limit it replaces the client's oldest finished task.
func (s *Store) admit(t *Task) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	var oldest *Task
	own, live := 0, 0
	for _, other := range s.tasks {
		if other.client != t.client {
			continue
		}
		own++
		switch {
		case !other.over():
			live++
		case oldest == nil || other.created.Before(oldest.created):
			oldest = other
		}
	}
	if s.closed || live >= s.options.Live || (own >= s.options.PerClient || len(s.tasks) >= s.options.Max) && oldest == nil {
		return false
	}
	if own >= s.options.PerClient || len(s.tasks) >= s.options.Max {
		s.drop(oldest)
	}
	s.tasks[t.id] = t
	return true
}

// keep keeps a finished task until it expires.
func (s *Store) keep(t *Task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tasks[t.id] != t {
		return // forgotten meanwhile
	}
	t.expiry = time.AfterFunc(s.options.TTL, func() { s.forget(func(other *Task) bool { return other == t }) })
}

// find returns a client's task, nil if it has none with this id.
func (s *Store) find(client, id string) *Task {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tasks[id]
	if t == nil || t.client != client {
		return nil
	}
	return t
}

func (s *Store) forget(which func(*Task) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.tasks {
		if which(t) {
			s.drop(t)
		}
	}
}

// drop cancels and removes a task. The caller holds mu.
func (s *Store) drop(t *Task) {
	t.cancel()
	if t.expiry != nil {
		t.expiry.Stop()
	}
	delete(s.tasks, t.id)
}
