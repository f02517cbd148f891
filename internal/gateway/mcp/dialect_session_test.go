package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"troupe/internal/dialect"
	"troupe/messages"
)

// parrot is a dialect whose one tool says what it was told, after a while.
type parrot struct {
	place  Place
	closed chan struct{}
}

func (p *parrot) Tools() []dialect.Tool {
	return []dialect.Tool{{
		Name: "say", Description: "says it", Schema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`),
		Call: func(ctx context.Context, c dialect.Call) (dialect.Result, error) {
			var in struct {
				Text string `json:"text"`
			}
			if err := dialect.Decode(c.Arguments, &in); err != nil {
				return dialect.Result{Text: err.Message, IsError: true}, nil
			}
			if c.Update != nil {
				c.Update(dialect.Result{Text: "begun\n"})
				time.Sleep(1500 * time.Millisecond) // of the bubble
				c.Update(dialect.Result{Text: "begun\nhalf\n\n"})
				time.Sleep(12 * time.Second)
			}
			p.place.Tell("something has ended", nil)
			p.place.Tell("something was told", func() bool { return true })
			return dialect.Result{Text: in.Text, Details: map[string]any{"scope": p.place.Scope}}, ctx.Err()
		},
	}}
}

func (p *parrot) Close(context.Context) error {
	close(p.closed)
	return nil
}

// A dialect's tools have its parameters and its texts, and nothing of the core's.
func TestAClientSpeaksADialect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, opened := &parrot{closed: make(chan struct{})}, 0
		s := New(Options{Host: newNode(), Scope: "mcp", Dialect: &Dialect{
			Instructions: "Speak.", Tools: p.Tools(),
			Open: func(at Place) (Session, error) { p.place, opened = at, opened+1; return p, nil },
		}})
		client := s.newClient()
		near, far := sdk.NewInMemoryTransports()
		_, err := client.sdk.Connect(t.Context(), far, nil)
		require.NoError(t, err)
		var said []string
		session, err := sdk.NewClient(&sdk.Implementation{Name: "tester"}, &sdk.ClientOptions{
			ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
				said = append(said, r.Params.Message)
			},
		}).Connect(t.Context(), near, nil)
		require.NoError(t, err)
		require.Equal(t, "Speak.", session.InitializeResult().Instructions)
		list, err := session.ListTools(t.Context(), nil)
		require.NoError(t, err)
		require.Len(t, list.Tools, 1)
		require.Equal(t, "say", list.Tools[0].Name)
		require.Zero(t, opened, "nothing was called yet")

		params := &sdk.CallToolParams{Name: "say", Arguments: map[string]any{"text": "hello"}}
		params.SetProgressToken("p")
		r, err := session.CallTool(t.Context(), params)
		require.NoError(t, err)
		require.Len(t, r.Content, 2)
		require.Equal(t, "hello", r.Content[0].(*sdk.TextContent).Text)
		require.Equal(t, "something has ended", r.Content[1].(*sdk.TextContent).Text)
		require.Nil(t, r.StructuredContent)
		require.Equal(t, map[string]any{"scope": string(p.place.Scope)}, r.Meta[DetailsKey])
		synctest.Wait()
		require.Equal(t, []string{"begun (1s)", "half (2s)", "half (12s)"}, said)

		r, err = session.CallTool(t.Context(), &sdk.CallToolParams{Name: "say", Arguments: map[string]any{"text": 1}})
		require.NoError(t, err)
		require.True(t, r.IsError)
		require.Equal(t, 1, opened)
		require.NoError(t, session.Close())
		client.leave()
		<-p.closed
		s.Close()
		r, err = session.CallTool(t.Context(), params)
		require.Error(t, err, r)
	})
}

// What a client is not told yet is bounded.
func TestNoticesOfADialectAreBounded(t *testing.T) {
	s := &dialectSession{}
	for range 3 * maxTold {
		s.tell("x", nil)
	}
	s.tell("the last", nil)
	told := s.take()
	require.Len(t, told, maxTold)
	require.Equal(t, "the last", told[maxTold-1])
	require.Empty(t, s.take())
}

// A call that comes behind the end of its client opens no session, which nobody would
// close, and no scope, which nobody would end.
func TestFaultACallComesBehindTheEndOfItsClient(t *testing.T) {
	opened := 0
	s := New(Options{Host: newNode(), Scope: "mcp", Many: true})
	defer s.Close()
	d := &Dialect{Open: func(Place) (Session, error) { opened++; return &parrot{closed: make(chan struct{})}, nil }}
	nobody := func() *sdk.Implementation { return nil }

	between := s.newClient() // its call has entered when it leaves
	require.NoError(t, between.enter(t.Context(), nobody))
	between.leave()
	for _, c := range []*client{between, s.newClient()} {
		c.leave()
		_, err := c.speaks(t.Context(), d, nobody)
		require.ErrorIs(t, err, &messages.Error{Code: messages.ShuttingDown, Reason: "client"})
		require.Nil(t, c.dialect)
	}
	require.Zero(t, opened)
	require.Empty(t, s.clients)
}

// An error of the host is a result of the tool: a model sees it, and not the client
// alone.
func TestFaultTheHostOfADialectFails(t *testing.T) {
	s := New(Options{Host: newNode(), Scope: "mcp"})
	defer s.Close()
	c := s.newClient()
	req := &sdk.CallToolRequest{Params: &sdk.CallToolParamsRaw{Name: "say"}}
	for _, why := range []error{&messages.Error{Code: messages.KeeperUnresponsive, Message: "the daemon is away", Hint: "ask again"}, errors.New("broken pipe")} {
		it := &dialectSession{tools: map[string]dialect.Tool{"say": {Call: func(context.Context, dialect.Call) (dialect.Result, error) { return dialect.Result{}, why }}}}
		it.tell("something has ended", nil)
		r, err := it.call(t.Context(), &call{client: c, req: req})
		require.NoError(t, err)
		require.True(t, r.IsError)
		var coded *messages.Error
		text := why.Error()
		if errors.As(why, &coded) {
			text = coded.Message
		}
		require.Contains(t, r.Content[0].(*sdk.TextContent).Text, text)
		require.Equal(t, []string{"something has ended"}, it.take(), "the next result tells of it")
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = it.call(gone, &call{client: c, req: req})
		require.ErrorIs(t, err, context.Canceled)
	}
}
