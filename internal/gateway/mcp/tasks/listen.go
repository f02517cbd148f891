package tasks

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A client may listen for what becomes of its tasks: subscriptions/listen with
// taskIds. The SDK neither reads that field nor sends notifications/tasks, so both
// travel in disguise between here and the relay (relay.go): the ids in _meta of
// the request, a notification as one of progress with a mark in its _meta.
const (
	idsKey  = "troupe/taskIds"
	markKey = "troupe/notice"
)

// subscription is one stream on which a client listens for tasks.
type subscription struct {
	tasks []*Task
	acked chan any // gets the id of the subscription when it is told to the client
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
		<-ctx.Done() // the SDK waits only for what it knows
	}
	return result, err
}

// wanted are the ids that the relay put into a request.
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

// mark notes that a task has changed. It never waits: of several changes the
// client is told the last.
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

// tell sends how each task is, and then each time that it changes, until ctx
// ends or the stream does.
func (b *subscription) tell(ctx context.Context, session *mcp.ServerSession) {
	var id any
	select {
	case id = <-b.acked: // the acknowledgement comes first
	case <-ctx.Done():
		return
	}
	// What is sent in the context of a request goes with its answer; this does not.
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
			notice := &notice{about: t.detail()}
			notice.Meta = mcp.Meta{mcp.MetaKeySubscriptionID: id, markKey: true}
			if session.NotifyProgress(context.WithValue(bare, noticeKey{}, notice), &mcp.ProgressNotificationParams{}) != nil {
				return
			}
		}
	}
}

type (
	subscriptionKey struct{} // of the subscription that a request makes
	noticeKey       struct{} // of what is sent in place of progress
)

// notice is the parameters of notifications/tasks.
type notice struct {
	mcp.ParamsBase
	about *detail
}

// MarshalJSON writes the task as tasks/get answers it, without what makes that a
// result.
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
	fields["_meta"] = n.Meta
	return json.Marshal(fields)
}

// agreed is the acknowledgement of a subscription, with its tasks.
type agreed struct {
	mcp.ParamsBase
	Notifications struct {
		mcp.NotificationSubscriptions
		TaskIDs []string `json:"taskIds,omitempty"`
	} `json:"notifications"`
}

// sending is a middleware of what the server sends.
func (s *Store) sending(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
		session, _ := r.GetSession().(*mcp.ServerSession)
		if n, ok := ctx.Value(noticeKey{}).(*notice); ok {
			return next(ctx, method, &mcp.ServerRequest[*notice]{Session: session, Params: n})
		}
		sub, listens := ctx.Value(subscriptionKey{}).(*subscription)
		ack, acks := r.GetParams().(*mcp.SubscriptionsAcknowledgedParams)
		if !listens || !acks {
			return next(ctx, method, r)
		}
		told := &agreed{}
		told.Meta = ack.Meta
		told.Notifications.NotificationSubscriptions = ack.Notifications
		for _, t := range sub.tasks {
			told.Notifications.TaskIDs = append(told.Notifications.TaskIDs, t.id)
		}
		result, err := next(ctx, method, &mcp.ServerRequest[*agreed]{Session: session, Params: told})
		sub.acked <- ack.Meta[mcp.MetaKeySubscriptionID]
		return result, err
	}
}
