package tasks

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"troupe/internal/gateway/mcp/relay"
)

// A client may subscribe to its tasks: subscriptions/listen with taskIds. The SDK does not
// read that field: Transport and Handler put the ids into _meta of the request.
const idsKey = "troupe/taskIds"

// subscription is one stream on which a client receives task changes.
type subscription struct {
	tasks []*Task
	acked chan any // gets the subscription's id when the client gets it
	news  chan struct{}

	mu      sync.Mutex
	changed map[*Task]bool
}

// listen serves subscriptions/listen: the SDK's part of it, and the tasks.
func (s *Store) listen(ctx context.Context, method string, r *mcp.SubscriptionsListenRequest, next mcp.MethodHandler) (mcp.Result, error) {
	ids := wanted(r.Params)
	if len(ids) == 0 {
		return next(ctx, method, r)
	}
	if !offered(r.ProtocolVersion(), r.ClientCapabilities()) {
		return nil, notOffered()
	}
	sub := &subscription{acked: make(chan any, 1), news: make(chan struct{}, 1), changed: map[*Task]bool{}}
	defer sub.leave()
	client := s.options.Client(ctx, r)
	for _, id := range ids {
		if t := s.find(client, id); t != nil {
			sub.tasks = append(sub.tasks, t)
			t.follow(sub)
		}
	}
	telling, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	defer func() {
		stop()
		<-done
	}()
	go func() {
		defer close(done)
		sub.tell(telling, r.Session)
	}()
	result, err := next(context.WithValue(ctx, subscriptionKey{}, sub), method, r)
	if err == nil && len(sub.tasks) > 0 {
		<-ctx.Done() // the SDK waits only for its own kinds
	}
	return result, err
}

// wanted returns the ids that the relay put into a request.
func wanted(p *mcp.SubscriptionsListenParams) []string {
	if p == nil {
		return nil
	}
	list, _ := p.Meta[idsKey].([]any)
	var ids []string
	for _, one := range list {
		if id, ok := one.(string); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

// mark records that a task has changed. It never blocks: of several changes the client
// receives the last.
func (b *subscription) mark(t *Task) {
	b.mu.Lock()
	b.changed[t] = true
	b.mu.Unlock()
	select {
	case b.news <- struct{}{}:
	default:
	}
}

func (b *subscription) take() []*Task {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []*Task
	for _, t := range b.tasks {
		if b.changed[t] {
			all = append(all, t)
			delete(b.changed, t)
		}
	}
	return all
}

func (b *subscription) leave() {
	for _, t := range b.tasks {
		t.unfollow(b)
	}
}

// tell sends the state of each task, and again after each change. It returns when ctx
// or the stream ends.
func (b *subscription) tell(ctx context.Context, session *mcp.ServerSession) {
	var id any
	select {
	case id = <-b.acked: // the acknowledgement comes first
	case <-ctx.Done():
		return
	}
	// A message sent in the context of a request goes with its reply; these must not.
	bare, cancel := context.WithCancel(context.Background())
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	for {
		select {
		case <-b.news:
		case <-ctx.Done():
			return
		}
		for _, t := range b.take() {
			if relay.Notify(bare, session, noticeMethod, &notice{about: t.detail(), subscription: id}) != nil {
				return
			}
		}
	}
}

// subscriptionKey is the context key of the subscription that a request makes.
type subscriptionKey struct{}

// notice has the parameters of notifications/tasks.
type notice struct {
	about        *detail
	subscription any // its id
}

// MarshalJSON writes the task as tasks/get does, without the fields of a result.
func (n *notice) MarshalJSON() ([]byte, error) {
	text, err := json.Marshal(n.about)
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, err
	}
	delete(fields, "resultType")
	fields["_meta"] = mcp.Meta{mcp.MetaKeySubscriptionID: n.subscription}
	return json.Marshal(fields)
}

// agreed acknowledges a subscription and names its tasks.
type agreed struct {
	mcp.ParamsBase
	Notifications struct {
		mcp.NotificationSubscriptions
		TaskIDs []string `json:"taskIds,omitempty"`
	} `json:"notifications"`
}

// sending acknowledges subscriptions with their tasks.
func (s *Store) sending(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
		sub, listens := ctx.Value(subscriptionKey{}).(*subscription)
		ack, acks := r.GetParams().(*mcp.SubscriptionsAcknowledgedParams)
		if !listens || !acks {
			return next(ctx, method, r)
		}
		session, _ := r.GetSession().(*mcp.ServerSession)
		reply := &agreed{}
		reply.Meta = ack.Meta
		reply.Notifications.NotificationSubscriptions = ack.Notifications
		for _, t := range sub.tasks {
			reply.Notifications.TaskIDs = append(reply.Notifications.TaskIDs, t.id)
		}
		result, err := next(ctx, method, &mcp.ServerRequest[*agreed]{Session: session, Params: reply})
		sub.acked <- ack.Meta[mcp.MetaKeySubscriptionID]
		return result, err
	}
}
