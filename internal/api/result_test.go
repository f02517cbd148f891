package api

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"troupe/messages"
)

// What a server writes is read as it is, whatever is in the record.
func TestServersResultIsRead(t *testing.T) {
	jobs := rapid.MakeCustom[messages.Record](rapid.MakeConfig{Types: map[reflect.Type]*rapid.Generator[any]{
		reflect.TypeFor[time.Time](): rapid.Custom(func(t *rapid.T) time.Time {
			return rapid.SampledFrom([]time.Time{{}, time.Unix(rapid.Int64Range(0, 1<<37).Draw(t, "seconds"), rapid.Int64Range(0, 999999999).Draw(t, "ns"))}).Draw(t, "time")
		}).AsAny(),
		reflect.TypeFor[time.Duration](): rapid.Custom(func(t *rapid.T) time.Duration { // of whole milliseconds, as JSON has them
			return time.Duration(rapid.Int64Range(-1<<40, 1<<40).Draw(t, "ms")) * time.Millisecond
		}).AsAny(),
		reflect.TypeFor[messages.Stream]():   rapid.SampledFrom([]messages.Stream{messages.Merged, messages.Stdout, messages.Stderr}).AsAny(),
		reflect.TypeFor[messages.Tristate](): rapid.SampledFrom([]messages.Tristate{messages.Unknown, messages.No, messages.Yes}).AsAny(),
	}})
	rapid.Check(t, func(t *rapid.T) {
		r := Result{Job: jobs.Draw(t, "job")}
		if rapid.Bool().Draw(t, "with a text") {
			r.Text = &Shown{Text: rapid.String().Draw(t, "text"), Truncated: rapid.Bool().Draw(t, "truncated")}
		}
		b, err := r.MarshalJSON()
		require.NoError(t, err)
		var got Result
		require.NoError(t, got.UnmarshalJSON(b), "%s", b)
		again, err := got.MarshalJSON()
		require.NoError(t, err)
		require.Equal(t, string(b), string(again))
		require.Equal(t, r.Text, got.Text)
	})
}

// Fields of a newer server are passed over, and null is the zero value.
func TestStrangeResultIsRead(t *testing.T) {
	for in, want := range map[string]messages.Record{
		`{}`:                           {},
		`null`:                         {},
		` { "id" : "j1" , "pid" : -7}`: {ID: "j1", PID: -7},
		`{"id":null,"argv":null,"pid":null,"output":null,"rusage":null,"oom":null,"text":null,"seq":null,"created_at":null}`: {},
		`{"new":{"id":[1,2.5e-3,"\u0000"],"x":{}},"id":"\u006a1"}`:                                                           {ID: "j1"},
		`{"ID":"j1"}`: {},
		`{"output":{"new":{"bytes":1},"stdout":{"elided":[{"from":1,"to":2}]}}}`: {
			Output: []messages.StreamOutput{{Stream: messages.Stdout, Elided: []messages.OutputGap{{From: 1, To: 2}}}},
		},
		`{"output":{"stdout":null}}`: {Output: []messages.StreamOutput{{Stream: messages.Stdout}}},
	} {
		var got Result
		require.NoError(t, got.UnmarshalJSON([]byte(in)), in)
		require.Equal(t, want, got.Job, in)
	}
}

// What no server writes is refused.
func TestBadInputJobObject(t *testing.T) {
	for _, in := range []string{
		``, `{`, `[]`, `{}x`, `{} {}`, `{"id":1}`, `{"pid":"1"}`, `{"pid":1.0}`, `{"pid":1e99}`, `{"seq":-1}`, `{"argv":{}}`, `{"created_at":"yesterday"}`,
		`{"output":[]}`, `{"output":{"stdout":{"bytes":"1"}}}`, `{"survivors":[{"pid":"1"}]}`, `{"id":"a\x"}`, "{\"id\":\"a\nb\"}", `{"oom":1}`, `{"new":01}`, `{"a":1,}`,
		`{"id":"a","id":"b"}`, `{"name":"\ud800"}`, "{\"name\":\"\xff\"}",
		strings.Repeat(`{"a":`, 20000) + "1" + strings.Repeat("}", 20000),
	} {
		require.Error(t, new(messages.Record).UnmarshalJSON([]byte(in)), "%.99s", in)
		require.Error(t, new(Result).UnmarshalJSON([]byte(in)), "%.99s", in)
	}
}

// FuzzResult: what is read says the same when it is written and read again.
func FuzzResult(f *testing.F) {
	b, err := Result{Job: shortJob(), Text: &Shown{Text: "a\x1b\u2028"}}.MarshalJSON()
	require.NoError(f, err)
	f.Add(b)
	f.Add([]byte(`{"survivors":[{"pid":1,"state":"D"}],"on_finish":[{"to":"a","error":{"code":"x"}}],"error":{},"cause":{},"output":{"stderr":{"elided":[{"from":1}]}}}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		var one, two Result
		if one.UnmarshalJSON(in) != nil {
			return
		}
		b, err := one.MarshalJSON()
		if err != nil { // a time that RFC 3339 cannot have
			return
		}
		require.NoError(t, two.UnmarshalJSON(b), "%s", b)
		again, err := two.MarshalJSON()
		require.NoError(t, err)
		require.Equal(t, string(b), string(again), "%q", in)
	})
}

// shortJob is the record of a command as most are.
func shortJob() messages.Record {
	at := time.Date(2026, 11, 22, 8, 0, 0, 123456789, time.UTC)
	return messages.Record{
		ID: "j1234", UID: "01JD9Z1R6YQ2Q4T2H0J7W3Q8XN", Scope: "main", Session: "default", Command: "bash -c true", Argv: []string{"bash", "-c", "true"},
		Mode: messages.ModeSync, Backend: "pipe", State: messages.Finished, End: messages.End{Outcome: messages.Exited, At: at.Add(3 * time.Millisecond), Rusage: messages.Rusage{User: time.Millisecond, System: time.Millisecond, MaxRSS: 3456}, Code: new(0)}, Timeout: time.Hour, PID: 12345,
		Isolation: messages.InCgroup, Dir: "/src/project", Created: at, Started: at.Add(time.Millisecond), Seq: 4711,
		Output: []messages.StreamOutput{{Stream: messages.Stdout, Bytes: 5}, {Stream: messages.Stderr}},
	}
}

func BenchmarkReadResult(b *testing.B) {
	text, err := shortJob().MarshalJSON()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		var r Result
		if err := r.UnmarshalJSON(text); err != nil {
			b.Fatal(err)
		}
	}
}
