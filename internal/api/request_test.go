package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"troupe/internal/api"
	"troupe/messages"
)

// A request that goes over the wire is the request that was sent.
func TestRunKeepsItsRequest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ms := rapid.Int64Range(1, int64(messages.MaxDuration/time.Millisecond))
		span := func(name string) time.Duration {
			return time.Duration(rapid.OneOf(rapid.Just(int64(0)), ms).Draw(t, name)) * time.Millisecond
		}
		word := rapid.StringMatching(`[a-z/]{0,5}`)
		r := messages.RunCommand{
			UID: messages.UID(word.Draw(t, "uid")), Scope: messages.ScopePath(word.Draw(t, "scope")), Session: messages.SessionID(word.Draw(t, "session")),
			Labels: messages.Labels{Name: word.Draw(t, "name"), Description: rapid.String().Draw(t, "description"), Tag: string(rapid.SliceOf(rapid.Byte()).Draw(t, "tag"))}, Program: messages.Program{Shell: word.Draw(t, "shell")},
			Dir: word.Draw(t, "dir"), Umask: word.Draw(t, "umask"), Stdio: messages.Stdio{Streams: messages.StreamMode(word.Draw(t, "streams")), Stdin: messages.StdinPipe},
			Mode: rapid.SampledFrom([]messages.Mode{"", messages.ModeAsync, messages.ModeDetached}).Draw(t, "mode"), Store: messages.Store{LogFile: rapid.String().Draw(t, "log_file"), Persist: rapid.Bool().Draw(t, "persist"), Durability: word.Draw(t, "durability"), Quota: messages.Quota{Bytes: int64(rapid.IntRange(0, 9).Draw(t, "quota")), Policy: word.Draw(t, "policy")}},
			PromoteAfter: span("promote"), Timeout: span("timeout"), Grace: span("grace"), OnExit: messages.OnExit(word.Draw(t, "on exit")),
			OnFinish: rapid.SampledFrom([][]string{nil, {"true"}, {"true", "https://h/p"}}).Draw(t, "on finish"),
			ProcAttr: messages.ProcAttr{Limits: messages.Limits{Rlimits: rapid.SampledFrom([][]string{nil, {"core=0"}}).Draw(t, "rlimits"), Nice: rapid.IntRange(-20, 19).Draw(t, "nice"), CPUs: word.Draw(t, "CPUs")}, StopSignal: word.Draw(t, "stop signal")},
		}
		if r.Grace == 0 && rapid.Bool().Draw(t, "no grace") {
			r.Grace = -1
		}
		if rapid.Bool().Draw(t, "argv") {
			for _, word := range rapid.SliceOfN(rapid.SliceOf(rapid.Byte()), 1, 3).Draw(t, "argv") {
				r.Argv = append(r.Argv, string(word))
			}
		} else {
			r.Text = string(rapid.SliceOf(rapid.Byte()).Draw(t, "text"))
		}
		if rapid.Bool().Draw(t, "caller") {
			r.Env.Policy = messages.EnvCaller
			for _, v := range rapid.SliceOfN(rapid.SliceOf(rapid.Byte()), 0, 3).Draw(t, "base") {
				r.Env.Base = append(r.Env.Base, "B="+string(v))
			}
		}
		if rapid.Bool().Draw(t, "env") {
			r.Env.Set = []string{"A=" + rapid.String().Draw(t, "a"), "B=" + string(rapid.SliceOf(rapid.Byte()).Draw(t, "b"))}
		}
		if rapid.Bool().Draw(t, "terminal") {
			r.Shown = rapid.Bool().Draw(t, "shown")
			r.Terminal = messages.Terminal{Rows: rapid.IntRange(1, 65535).Draw(t, "rows"), Cols: rapid.IntRange(1, 65535).Draw(t, "cols")}
		}
		if rapid.Bool().Draw(t, "open") {
			r.Open = &messages.SessionPlan{
				Backend: word.Draw(t, "backend"), Dir: word.Draw(t, "session dir"), Umask: word.Draw(t, "session umask"), Shell: word.Draw(t, "session shell"),
				Env: messages.Env{Policy: r.Env.Policy, Base: r.Env.Base, Set: r.Env.Set}, Terminal: r.Terminal, Limits: r.Limits,
			}
		}
		b, err := messages.MarshalRequest(r)
		require.NoError(t, err)
		var back messages.RunCommand
		if refused := api.Decode(b, &back); refused != nil {
			t.Fatalf("%s: %v", b, refused)
		}
		require.Equal(t, r, back)
	})
}

// Keys and a paste must be text: the daemon encodes them.
func TestBadInputNotEncodable(t *testing.T) {
	for text, fits := range map[string]bool{"\u00ff\x00": true, "a\xffb": false} {
		for _, r := range []messages.WriteInput{{Job: "j1", Paste: text}, {Job: "j1", Keys: text}} {
			_, _, _, err := api.Named("input").Encode(r)
			if fits {
				require.NoError(t, err)
			} else {
				require.Equal(t, err, error(&messages.Error{
					Code: messages.InvalidParams, Reason: "utf8", Message: `"a\xffb" is not UTF-8 text, which a request to the daemon must be`,
					Hint: "write it as data, of which each byte is passed on: troupe write without --paste and --keys",
				}))
			}
		}
	}
}

// So is a request for a session, which is the plan of a run with a name.
func TestOpenSessionKeepsItsRequest(t *testing.T) {
	r := messages.OpenSession{Scope: "a/b", Session: "s", SessionPlan: messages.SessionPlan{
		Backend: messages.BackendShellPTY, Dir: "/\xff", Env: messages.Env{Policy: messages.EnvCaller, Base: []string{"A=\xff", "base64:=1"}, Set: []string{"B=\xff"}},
		Umask: "0027", Shell: "zsh", Terminal: messages.Terminal{Rows: 24, Cols: 80}, Limits: messages.Limits{Nice: -1},
	}}
	b, err := messages.MarshalRequest(r)
	require.NoError(t, err)
	var back messages.OpenSession
	require.Nil(t, api.Decode(b, &back))
	require.Equal(t, r, back)
}

// The job object comes back as it was.
func TestJobComesBack(t *testing.T) {
	at := time.Date(2026, 11, 22, 8, 0, 0, 123456789, time.UTC)
	for _, job := range []messages.Record{
		{ID: "j1", UID: "u", Scope: "main", Session: "default", State: messages.Queued, Mode: messages.ModeSync},
		{
			ID: "j2", Labels: messages.Labels{Name: "n", Tag: "t"}, Command: "a b", Argv: []string{"a", "b"}, State: messages.Finished, End: messages.End{Outcome: messages.TimedOut, Signal: "KILL", Cause: messages.Cause{By: messages.ByDeadline, Signal: "KILL"}, OOM: messages.Yes, Children: 2, Survivors: []messages.Survivor{{PID: 3, State: "D"}}, At: at.Add(time.Second), Rusage: messages.Rusage{User: time.Millisecond, System: 2 * time.Millisecond, MaxRSS: 5}}, OutputOpen: true, Flags: []messages.Flag{messages.FlagLogBlocked},
			EnvDropped: []string{"X"}, Timeout: time.Second, PID: 9, Isolation: messages.InCgroup, Dir: "/", Created: at, Started: at, Seq: 8,
			OnFinish: []messages.Notice{{To: "true", State: messages.NoticePending}, {To: "https://h/", State: messages.NoticeGivenUp, Seq: 7, Tries: 3, Err: messages.Error{Code: messages.Refused, Message: "m"}}},
			Output:   []messages.StreamOutput{{Stream: messages.Stdout, Bytes: 5, Lines: new(int64(1)), LinesExact: true}, {Stream: messages.Stderr, File: "/f", Elided: []messages.OutputGap{{From: 1, To: 2}}}},
		},
		{State: messages.Finished, End: messages.End{Outcome: messages.Lost, Err: messages.Error{Code: messages.Internal, Message: "m"}}},
		{State: messages.Finished, End: messages.End{Outcome: messages.FailedToStart, Err: messages.Error{Code: messages.SpawnFailed, Reason: "ENOENT", Message: "m"}}},
		{State: messages.Finished, End: messages.End{Outcome: messages.Signaled, Signal: "40"}},
	} {
		b, err := json.Marshal(job)
		require.NoError(t, err)
		var got messages.Record
		require.NoError(t, json.Unmarshal(b, &got))
		again, err := json.Marshal(got)
		require.NoError(t, err)
		require.JSONEq(t, string(b), string(again))
		require.Equal(t, job.ExitCode(), got.ExitCode())
		require.Equal(t, job.End.Shell(), got.End.Shell())
		require.Equal(t, job.End.Code, got.End.Code)
	}
}

// Each fact has an event, and comes back from it.
func TestEventsOfFacts(t *testing.T) {
	job := messages.Record{ID: "j1"}
	for _, fact := range []messages.Fact{
		messages.CommandQueued{Job: job},
		messages.CommandStarted{Job: job},
		messages.CommandPromoted{Job: job},
		messages.CommandStopping{Job: job},
		messages.CommandDraining{Job: job},
		messages.CommandFinished{Job: job},
		messages.CommandRetired{Job: job},
		messages.CommandChanged{Job: job},
		messages.CommandNotified{Job: job},
		messages.SessionOpened{Info: messages.SessionInfo{Session: "s"}},
		messages.SessionReplaced{Session: "s", Dir: "/", Lost: "l"},
		messages.SessionClosed{Session: "s", Reason: "r", Survivors: []messages.Survivor{{PID: 1}}},
		messages.ScopeOpened{Path: "a"},
		messages.ScopeClosed{Path: "a", Reason: "r", Jobs: []messages.JobID{"j1"}},
	} {
		e, err := api.NewEvent(7, fact)
		require.NoError(t, err)
		b, err := json.Marshal(e)
		require.NoError(t, err)
		var got api.Event
		require.NoError(t, json.Unmarshal(b, &got))
		require.Equal(t, messages.Seq(7), got.Seq)
		require.IsType(t, fact, got.Fact())
		if _, of := fact.(messages.CommandFact); !of {
			require.Equal(t, fact, got.Fact())
		}
	}
	require.Nil(t, api.Event{Kind: "something new"}.Fact())
}

// FuzzDecode: whatever comes, the decoder ends, refuses with a code, or gives a
// request that says the same when it is written and read again.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"command":"true"}`, `{"argv":["a"],"environment":{"set":["A=b"]},"timeout_ms":5,"terminal":{"rows":1,"cols":2}}`, `{`, `[]`, `{"command":"\ud800\udc00"}`,
		`{"command":"\ud800"}`, `{"a":{"b":[{}]}}`, `{"environment":{"environment":{}}}`, strings.Repeat(`{"a":`, 100), `{"command":1e999}`, "{\"command\":\"\xff\"}", `{"command":null}`,
		`{"environment":{"base":[{"base64":"AA=="}],"policy":"caller"},"command":{"base64":"/w=="}}`, `{"scope":"a","scope":"b"}`, `{"ſcope":"a"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var run messages.RunCommand
		if refused := api.Decode(in, &run); refused != nil {
			if refused.Code != messages.InvalidParams || refused.Reason == "" || refused.Message == "" {
				t.Fatalf("%q: %+v", in, refused)
			}
			return
		}
		if !json.Valid(in) {
			t.Fatalf("%q is no JSON, and was taken", in)
		}
		b, err := messages.MarshalRequest(run)
		if err != nil {
			t.Fatal(err)
		}
		var again messages.RunCommand
		if refused := api.Decode(b, &again); refused != nil {
			t.Fatalf("%s: %v", b, refused)
		}
		two, err := messages.MarshalRequest(again)
		if err != nil || string(b) != string(two) {
			t.Fatalf("%s became %s (%v)", b, two, err)
		}
	})
}

// A grace may be none, and its refusal does not say otherwise. What is absent or null has the value
// that the route gives it.
func TestAbsentValues(t *testing.T) {
	for body, want := range map[string]messages.StopCommand{
		`{}`: {}, `{"grace_ms":null}`: {}, `{"grace_ms":0}`: {Grace: -1}, `{"grace_ms":1500}`: {Grace: 1500 * time.Millisecond},
	} {
		var r messages.StopCommand
		require.Nil(t, api.Decode([]byte(body), &r), body)
		require.Equal(t, want, r, body)
	}
	wrong := api.Decode([]byte(`{"grace_ms":-1}`), &messages.StopCommand{})
	require.Equal(t, "grace_ms", wrong.Reason)
	require.Contains(t, wrong.Message, "0 to kill at once")
	for body, want := range map[string]bool{`{}`: true, `{"keep":null}`: true, `{"keep":true}`: true, `{"keep":false}`: false} {
		r, err := api.Named("promote").Read(request(t, "POST", "/"), nil, []byte(body))
		require.NoError(t, err)
		require.Equal(t, messages.PromoteCommand{Keep: want}, r, body)
	}
	for body, want := range map[string]bool{`{}`: true, `{"stop_jobs":null}`: true, `{"stop_jobs":true}`: false} {
		r, err := api.Named("shutdown").Read(request(t, "POST", "/"), nil, []byte(body))
		require.NoError(t, err)
		require.Equal(t, messages.ShutdownNode{KeepJobs: want}, r, body)
	}
}

func BenchmarkReadRequest(b *testing.B) {
	text := []byte(`{"scope":"main","command":"make test","cwd":"/src/project","environment":{"policy":"caller","base":["HOME=/home/user","PATH=/usr/bin:/bin"]},"timeout_ms":60000}`)
	route, from := api.Named("run"), &http.Request{}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := route.Read(from, nil, text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSendRequest(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		route, _ := api.Of(messages.FindJob{Job: "j1"})
		if _, _, _, err := route.Encode(messages.FindJob{Job: "j1"}); err != nil {
			b.Fatal(err)
		}
	}
}
