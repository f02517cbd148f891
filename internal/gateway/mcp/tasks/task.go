package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ErrNotAsked means that the client cannot be asked, in a call that became no task.
var ErrNotAsked = errors.New("cannot ask a client that does not support tasks")

// Task is the task as its work sees it. Its methods are safe for concurrent use.
type Task struct {
	store  *Store // nil: the work is done within the call
	id     string
	client string
	cancel context.CancelFunc

	mu        sync.Mutex
	state     string
	message   string
	created   time.Time
	changed   time.Time
	ended     time.Time // zero: running
	asked     map[string]bool
	pending   map[string]*question
	result    json.RawMessage
	fault     *jsonrpc.Error
	expiry    *time.Timer
	followers map[*subscription]bool // subscriptions to the task
}

// question is one question to the client.
type question struct {
	what   *mcp.ElicitParams
	answer *mcp.ElicitResult
	done   chan struct{}
}

// ID returns the task's id, "" if the work is done within the call.
func (t *Task) ID() string { return t.id }

// Say sets the status message of the task.
func (t *Task) Say(message string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.store == nil || !t.ended.IsZero() || t.message == message {
		return
	}
	t.message = message
	t.touch()
}

// Ask sends questions to the client's user and returns when all are answered. Each key
// may be used once in a task. Ask fails when ctx ends, after Options.Patience without
// an answer (context.DeadlineExceeded), and with ErrNotAsked.
func (t *Task) Ask(ctx context.Context, requests map[string]*mcp.ElicitParams) (map[string]*mcp.ElicitResult, error) {
	if t.store == nil {
		return nil, ErrNotAsked
	}
	ctx, stop := context.WithTimeout(ctx, t.store.options.Patience)
	defer stop()
	questions, err := t.put(requests)
	if err != nil {
		return nil, err
	}
	defer t.withdraw(questions)
	answers := map[string]*mcp.ElicitResult{}
	for key, q := range questions {
		select {
		case <-q.done:
			answers[key] = q.answer
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return answers, nil
}

func (t *Task) put(requests map[string]*mcp.ElicitParams) (map[string]*question, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key := range requests {
		if t.asked[key] {
			return nil, fmt.Errorf("the key %q was used before in this task", key)
		}
	}
	questions := map[string]*question{}
	for key, what := range requests {
		q := &question{what: what, done: make(chan struct{})}
		t.asked[key], t.pending[key], questions[key] = true, q, q
	}
	t.settle()
	return questions, nil
}

// withdraw removes unanswered questions.
func (t *Task) withdraw(questions map[string]*question) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key := range questions {
		delete(t.pending, key)
	}
	t.settle()
}

// answer takes the client's responses and ignores those without a question. If one is
// invalid, it takes none.
func (t *Task) answer(responses map[string]json.RawMessage) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	taken := map[string]*mcp.ElicitResult{}
	for key, text := range responses {
		if t.pending[key] == nil {
			continue
		}
		r := new(mcp.ElicitResult)
		if json.Unmarshal(text, r) != nil || r.Action == "" {
			return refusal(jsonrpc.CodeInvalidParams, fmt.Sprintf("the response %q does not answer a question", key))
		}
		taken[key] = r
	}
	for key, r := range taken {
		q := t.pending[key]
		delete(t.pending, key)
		q.answer = r
		close(q.done)
	}
	t.settle()
	return nil
}

// settle updates the state: with an open question, the task waits for input.
func (t *Task) settle() {
	next := working
	if len(t.pending) > 0 {
		next = inputRequired
	}
	if t.ended.IsZero() && t.state != next {
		t.state = next
		t.touch()
	}
}

// touch records a change. The caller holds mu.
func (t *Task) touch() {
	t.changed = time.Now()
	for sub := range t.followers {
		sub.mark(t)
	}
}

// follow subscribes to the task and marks it at once.
func (t *Task) follow(sub *subscription) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.followers[sub] = true
	sub.mark(t)
}

func (t *Task) unfollow(sub *subscription) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.followers, sub)
}

// end records how the work ended.
func (t *Task) end(result *mcp.CallToolResult, err error, asked bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.touch()
	t.ended, t.pending, t.message = time.Now(), nil, "" // the message described running work
	t.fault = protocolError(err)
	switch {
	case asked && errors.Is(err, context.Canceled):
		t.state = cancelled
		return
	case t.fault == nil:
		t.state = completed
		if t.result, err = inlined(resultOf(result, err)); err == nil {
			return
		}
		t.fault = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "cannot encode the result as JSON: " + err.Error()}
	}
	t.state, t.message = failed, t.fault.Message
}

func (t *Task) over() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.ended.IsZero()
}

// seed returns the task for the reply to tools/call.
func (t *Task) seed() *seed {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.head()
	s.ResultType = "task"
	return &s
}

// detail returns the task for tasks/get.
func (t *Task) detail() *detail {
	t.mu.Lock()
	defer t.mu.Unlock()
	d := &detail{seed: t.head(), Result: t.result, Error: t.fault}
	if len(t.pending) > 0 {
		d.InputRequests = mcp.InputRequestMap{}
		for key, q := range t.pending {
			d.InputRequests[key] = q.what
		}
	}
	return d
}

func (t *Task) head() seed {
	s := seed{
		ResultType: "complete", TaskID: t.id, Status: t.state, StatusMessage: t.message,
		CreatedAt: stamp(t.created), LastUpdatedAt: stamp(t.changed), Poll: t.store.options.Poll.Milliseconds(),
	}
	if !t.ended.IsZero() {
		ttl := (t.ended.Sub(t.created) + t.store.options.TTL).Milliseconds()
		s.TTL = &ttl
	}
	return s
}
