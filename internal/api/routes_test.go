package api_test

import (
	"math"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/internal/api"
	"troupe/messages"
)

func request(t *testing.T, method, target string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://troupe"+target, nil)
	require.NoError(t, err)
	return r
}

// sent are requests with a value in each field that travels, and with the values that JSON has
// rules for.
var sent = []any{
	messages.ListJobs{},
	messages.ListJobs{Scope: "a/b", Finished: true, States: []messages.State{messages.Running}},
	messages.FindJob{Job: "a/b c?d%2F"},
	messages.RemoveJob{Job: "j1"},
	messages.ReadScreen{Job: "j1"},
	messages.StopCommand{Job: "j1", Grace: -1, Reason: "r\xff"},
	messages.StopCommand{Scope: "a", Session: "s", Grace: 1500 * time.Millisecond},
	messages.SignalCommand{Job: "j1", Signal: "INT", Tree: true},
	messages.PromoteCommand{Job: "j1"},
	messages.PromoteCommand{Job: "j1", Keep: true},
	messages.ChangeDeadline{Job: "j1", None: true},
	messages.ChangeDeadline{Job: "j1", Extend: time.Second},
	messages.ChangeDeadline{Job: "j1", After: time.Hour},
	messages.WriteInput{Job: "j1", Data: []byte{}},
	messages.WriteInput{Job: "j1", Data: []byte("a\x00ü\n")},
	messages.WriteInput{Job: "j1", Data: []byte("a\xff"), Raw: true},
	messages.WriteInput{Job: "j1", Keys: "{up}"},
	messages.WriteInput{Job: "j1", Paste: "a\nb", Raw: true},
	messages.CloseInput{Job: "j1"},
	messages.ResizeTerminal{Job: "j1", Size: messages.Terminal{Rows: 5, Cols: 6}},
	messages.HandOver{Job: "j1", To: "a/b"},
	api.Remove{Jobs: []messages.JobID{"j1", "a\xff"}},
	messages.WaitJobs{Jobs: []messages.JobID{"j1", "a b"}},
	messages.WaitJobs{Jobs: []messages.JobID{"j1"}, Any: true, Timeout: time.Minute, Condition: messages.Condition{
		Kind: messages.UntilPattern, Pattern: "a\xff", Stream: messages.Stderr, Port: 1, Host: "h", Quiet: time.Second,
	}},
	messages.AnnounceTask{ID: "t", Scope: "a/b", Kind: "agent", Description: "a b", State: "running"},
	messages.UpdateTask{ID: "t", Scope: "a/b", Description: "a b", State: "done", Ended: true},
	messages.ListSessions{Scope: "a", Recent: true},
	messages.OpenSession{Scope: "a", Session: "s"},
	messages.CloseSession{Scope: "a", Session: "s", Grace: -1, Reason: "r&r"},
	messages.ListScopes{Path: "a/b"},
	messages.OpenScope{Path: "a/b", Quota: messages.ScopeQuota{Jobs: 1, Sessions: 2}},
	messages.OpenScope{Path: "a/b", Join: true},
	messages.CloseScope{Path: "a/b/c", Grace: time.Second, Reason: "r"},
	messages.ReleaseScope{Path: "a", Grace: -1, Reason: "r"},
	api.EndLease{ID: "L", Grace: -1, Reason: "r"},
	messages.ShutdownNode{Grace: time.Second, Reason: "r"},
	messages.ShutdownNode{KeepJobs: true},
	messages.RunCommand{Program: messages.Program{Text: "true"}},
}

// A request that goes through the table is the request that was sent.
func TestRequestsComeBack(t *testing.T) {
	missing := map[reflect.Type]bool{}
	for _, r := range api.Routes() {
		if r.Request != nil && r.Media() == "" && r.ID != "read" { // a view has a test of its own
			missing[reflect.TypeOf(r.Request)] = true
		}
	}
	for _, want := range sent {
		delete(missing, reflect.TypeOf(want))
		require.Equal(t, want, through(t, want, nil), "%#v", want)
	}
	require.Empty(t, missing)
}

// The longest duration does not become the shortest.
func TestLongDurationsAreSent(t *testing.T) {
	const longest = time.Duration(math.MaxInt64)
	for _, r := range []any{
		messages.StopCommand{Job: "j1", Grace: longest},
		messages.CloseScope{Path: "a", Grace: longest},
		api.EndLease{ID: "L", Grace: longest},
		messages.ReleaseScope{Path: "a", Grace: messages.MaxDuration + 1},
		messages.ShutdownNode{Grace: longest},
		messages.CloseSession{Session: "s", Grace: longest},
	} {
		require.Equal(t, int64(messages.MaxDuration), reflect.ValueOf(through(t, r, nil)).FieldByName("Grace").Int(), "%T", r)
	}
	require.Equal(t, time.Millisecond, through(t, messages.StopCommand{Job: "j1", Grace: 1}, nil).(messages.StopCommand).Grace)
	for _, r := range []any{messages.WaitJobs{Timeout: longest}, messages.RunCommand{Timeout: longest}, messages.ChangeDeadline{Job: "j1", After: longest}} {
		route, _ := api.Of(r)
		_, _, body, err := route.Encode(r)
		require.NoError(t, err)
		_, err = route.Read(request(t, "POST", "/"), nil, body)
		require.ErrorContains(t, err, "at most ten years", "%T", r)
	}
}

// through sends a request through its route, and gives what arrives.
func through(t *testing.T, r any, more func(api.Query, any) any) (got any) {
	t.Helper()
	route, found := api.Of(r)
	require.True(t, found, "%T", r)
	path, query, body, err := route.Encode(r)
	require.NoError(t, err)
	require.Equal(t, route.HasBody(), body != nil)
	mux := http.NewServeMux()
	mux.HandleFunc(route.Method+" "+route.Path, func(_ http.ResponseWriter, r *http.Request) {
		q, refused := route.Query(r.URL.RawQuery)
		require.Nil(t, refused)
		got, err = route.Read(r, q, body)
		require.NoError(t, err, "%s", body)
		if more != nil {
			got = more(q, got)
		}
	})
	mux.ServeHTTP(httptest.NewRecorder(), request(t, route.Method, path+"?"+query.Encode()))
	require.NotNil(t, got, "%s %s did not reach %s", route.Method, path, route.Path)
	return got
}

func TestViewsComeBack(t *testing.T) {
	for _, v := range []messages.View{
		{Kind: messages.ViewTail},
		{Kind: messages.ViewTail, Bytes: 9},
		{Kind: messages.ViewPage, Offset: 3},
		{Kind: messages.ViewPage, Offset: 1, Lines: 4},
		{Kind: messages.ViewHeadTail, Lines: 5},
		{Kind: messages.ViewTailLine, Lines: 6, Bytes: 7},
	} {
		for _, stream := range []messages.Stream{messages.Merged, messages.Stderr, messages.Both} {
			want := messages.ReadOutput{Job: "j1", Stream: stream, View: v, Plain: v.Lines > 0}
			if stream == messages.Both {
				if v.Kind != messages.ViewTail {
					continue
				}
				want.After = [2]int64{1, 2}
			}
			require.Equal(t, want, through(t, want, func(q api.Query, got any) any {
				r := got.(messages.ReadOutput)
				require.NoError(t, q.View(&r))
				return r
			}))
		}
	}
	route, _ := api.Of(messages.ReadOutput{})
	_, _, _, err := route.Encode(messages.ReadOutput{Job: "j1", View: messages.View{Kind: messages.ViewRange}})
	require.ErrorIs(t, err, &messages.Error{Code: messages.Unsupported, Reason: "view"})
}

// A name that leads elsewhere is no job.
func TestBadInputNamesInPaths(t *testing.T) {
	for _, name := range []messages.JobID{"", ".", "..", "a/..", "../a", "a//b", "/a", "a/"} {
		for _, r := range []any{messages.FindJob{Job: name}, messages.SignalCommand{Job: name}} {
			route, found := api.Of(r)
			require.True(t, found)
			_, _, _, err := route.Encode(r)
			require.ErrorIs(t, err, &messages.Error{Code: messages.NotFound, Reason: "job"}, "%q", name)
		}
	}
	_, _, _, err := api.Named("closeSession").Encode(messages.CloseSession{Session: ".."})
	require.ErrorIs(t, err, &messages.Error{Code: messages.InvalidParams, Reason: "session"})
	for _, path := range []messages.ScopePath{"", "..", "a/../b", "/a", "a//b"} {
		_, _, _, err = api.Named("closeScope").Encode(messages.CloseScope{Path: path})
		require.ErrorIs(t, err, &messages.Error{Code: messages.InvalidParams, Reason: "path"}, "%q", path)
	}
	_, _, _, err = api.Named("list").Encode(messages.ListJobs{States: []messages.State{"queued", "running"}})
	require.EqualError(t, err, "the daemon lists one state at a time")
}

// A request without a route is none of the API, nor is one that only the node answers.
func TestOnlyRequestsHaveRoutes(t *testing.T) {
	for _, r := range []any{messages.ClaimTerminal{}, messages.Subscribe{}, messages.PauseOutput{}, 5, &messages.FindJob{Job: "j1"}} {
		_, found := api.Of(r)
		require.False(t, found, "%T", r)
	}
}

// A reply comes back, with what its request named.
func TestRepliesComeBack(t *testing.T) {
	left := []messages.Survivor{{PID: 1, State: "D"}}
	for _, c := range []struct{ request, reply any }{
		{messages.CloseScope{Path: "a"}, messages.ScopeClosed{Path: "a", Reason: "r", Jobs: []messages.JobID{"j1"}, Survivors: left}},
		{messages.CloseSession{Scope: "a", Session: "s"}, messages.SessionClosed{Scope: "a", Session: "s", Reason: "r", Survivors: left}},
		{messages.ReleaseScope{Path: "a"}, messages.ScopeReleased{Path: "a", Jobs: []messages.JobID{}, Kept: []messages.JobID{"j1"}, Survivors: left}},
		{messages.OpenScope{Path: "a"}, messages.ScopeOpened{Path: "a"}},
		{messages.WriteInput{Job: "j1"}, messages.InputWritten{Through: 7}},
		{messages.ReadOutput{}, messages.OutputPage{Job: "j1", Stream: messages.Both, Text: "<&>\u2028", To: 5, Bytes: 5, Gaps: []messages.OutputGap{{From: 1, To: 2}}}},
		{messages.ReadOutput{}, messages.OutputPage{Job: "j1", Stream: messages.Stdout, Lines: 3, LinesExact: true, Gaps: []messages.OutputGap{}, Closed: true}},
		{messages.ReadScreen{}, messages.ScreenText{
			Job: "j1", Terminal: messages.Terminal{Rows: 2, Cols: 3}, Cursor: messages.Cursor{Row: 1, Col: 2, Visible: true}, Lines: []string{"a", ""},
			Title: "t", Keys: messages.KeyModes{Kitty: 1}, Modes: "\x1b[?1h", At: 4, Bytes: 5,
		}},
		{messages.FindJob{}, messages.JobFound{Job: messages.Record{ID: "j1", State: messages.Running}}},
	} {
		b, err := messages.MarshalReply(c.reply)
		require.NoError(t, err)
		require.Contains(t, string(b), `"v":1`)
		got := reflect.New(reflect.TypeOf(c.reply))
		require.NoError(t, messages.UnmarshalReply(b, got.Interface()), "%s", b)
		api.Complete(got.Elem(), c.request)
		if _, job := c.reply.(messages.JobFound); job { // the lists of a record are never nil then, and other fields may be null
			continue
		}
		require.Equal(t, c.reply, got.Elem().Interface(), "%s", b)
		empty, err := messages.MarshalReply(reflect.Zero(reflect.TypeOf(c.reply)).Interface())
		require.NoError(t, err)
		require.NotContains(t, strings.ReplaceAll(string(empty), `"lines":null`, ""), "null", "a list is never null: %s", empty)
	}
}
