package mcp

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"troupe/internal/gateway/mcp/tasks"
	"troupe/messages"
)

// slow is a host whose jobs and waits take their time, and whose jobs write a line
// every second.
type slow struct {
	leaser
	takes time.Duration

	life  sync.Mutex
	began map[messages.UID]time.Time
	gone  map[messages.JobID]chan struct{} // closed by Promote
}

func (s *slow) Run(ctx context.Context, r messages.RunCommand, _ int, known func(messages.JobID)) (messages.Record, Text, error) {
	s.life.Lock()
	if s.began == nil {
		s.began, s.gone = map[messages.UID]time.Time{}, map[messages.JobID]chan struct{}{}
	}
	gone := make(chan struct{})
	s.gone[messages.JobID(r.UID)] = gone
	s.began[r.UID] = time.Now()
	s.life.Unlock()
	if known != nil {
		known("j1")
	}
	takes := s.takes
	if r.PromoteAfter > 0 {
		takes = min(takes, r.PromoteAfter)
	}
	select {
	case <-time.After(takes):
	case <-gone:
	case <-ctx.Done():
	}
	job, err := s.Job(ctx, messages.JobID(r.UID))
	return job, Text{}, err
}

func (s *slow) Job(_ context.Context, id messages.JobID) (messages.Record, error) {
	s.life.Lock()
	defer s.life.Unlock()
	began, ok := s.began[messages.UID(id)]
	if !ok {
		began = time.Now() // the test waits for one that it has not run
	}
	job := messages.Record{ID: "j1", UID: messages.UID(id), Scope: s.scope(), State: messages.Running, Output: []messages.StreamOutput{{Stream: messages.Merged}}}
	if time.Since(began) >= s.takes {
		job.State, job.End.Outcome = messages.Finished, messages.Exited
	}
	return job, nil
}

func (s *slow) Promote(_ context.Context, id messages.JobID) (messages.Record, error) {
	s.life.Lock()
	defer s.life.Unlock()
	close(s.gone[id])
	return messages.Record{}, nil
}

func (s *slow) View(_ context.Context, r messages.ReadOutput) (messages.OutputPage, error) {
	s.life.Lock()
	defer s.life.Unlock()
	n := int(time.Since(s.began[messages.UID(r.Job)]).Seconds())
	return messages.OutputPage{Job: r.Job, Text: fmt.Sprintf("line %d\nline %d\n\n", n-1, n)}, nil
}

func (s *slow) Await(_ context.Context, r messages.WaitJobs) (messages.WaitEnded, error) {
	time.Sleep(min(s.takes, r.Timeout)) // of the bubble
	return messages.WaitEnded{TimedOut: true}, nil
}

func (s *slow) Jobs(context.Context, messages.ListJobs) ([]messages.Record, error) { return nil, nil }

func (s *slow) Events(ctx context.Context, _ messages.Filter, begun func()) iter.Seq2[messages.Fact, error] {
	return func(func(messages.Fact, error) bool) {
		begun()
		<-ctx.Done()
	}
}

func (s *slow) scope() messages.ScopePath {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.path
}

// word is what a client has heard of a call that goes on, and when.
type word struct {
	after    time.Duration
	progress float64
	message  string
}

// hears connects a client in the same bubble, and gives what it hears.
func hears(t *testing.T, s *Server, revision string) (*sdk.ClientSession, func() []word) {
	t.Helper()
	began := time.Now()
	var mu sync.Mutex
	var heard []word
	client := sdk.NewClient(&sdk.Implementation{Name: "patient", Version: "1"}, &sdk.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
			mu.Lock()
			defer mu.Unlock()
			heard = append(heard, word{time.Since(began), r.Params.Progress, r.Params.Message})
		},
	})
	ours, theirs := sdk.NewInMemoryTransports()
	c := s.newClient()
	served := make(chan error, 1)
	go func() { served <- c.sdk.Run(t.Context(), tasks.Transport(ours)) }()
	session, err := client.Connect(t.Context(), theirs, &sdk.ClientSessionOptions{ProtocolVersion: revision})
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = session.Close()
		<-served
		c.leave()
	})
	return session, func() []word {
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		all := heard
		heard, began = nil, time.Now()
		return all
	}
}

// Who has given a token hears every ten seconds that his call is at work, and of a
// command what it has written last: clients give up on a call of which they hear
// nothing for longer. Who has given none hears nothing, and nobody does behind the
// result.
func TestACallTellsThatItIsAtWork(t *testing.T) {
	for _, revision := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := New(Options{Host: &slow{takes: 47 * time.Second}, Scope: "mcp"})
				defer s.Close()
				session, heard := hears(t, s, revision)
				call := func(tool string, token any, args map[string]any) {
					t.Helper()
					p := &sdk.CallToolParams{Name: tool, Arguments: args}
					if token != nil {
						p.SetProgressToken(token)
					}
					r, err := session.CallTool(t.Context(), p)
					require.NoError(t, err)
					require.False(t, r.IsError, "%+v", r.Content[0])
				}
				run := map[string]any{"command": "make", "wait_seconds": 55}
				call("run", "token", run)
				require.Equal(t, []word{
					{10 * time.Second, 10, "line 10 (10s)"},
					{20 * time.Second, 20, "line 20 (20s)"},
					{30 * time.Second, 30, "line 30 (30s)"},
					{40 * time.Second, 40, "line 40 (40s)"},
				}, heard())
				call("wait", 7, map[string]any{"job_ids": []string{"j1"}, "timeout_seconds": 25})
				require.Equal(t, []word{{10 * time.Second, 10, "waiting (10s)"}, {20 * time.Second, 20, "waiting (20s)"}}, heard())
				call("run", nil, run)
				call("run", "token", map[string]any{"command": "make", "wait_seconds": 9})
				time.Sleep(time.Hour)
				require.Empty(t, heard())
			})
		})
	}
}
