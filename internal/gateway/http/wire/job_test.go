package wire

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"troupe/messages"
)

// What a server writes holds no surprise, whatever is in the record: it is read
// field by field, and as encoding/json reads it.
func TestServersResultIsReadFieldByField(t *testing.T) {
	jobs := rapid.MakeCustom[messages.Job](rapid.MakeConfig{Types: map[reflect.Type]*rapid.Generator[any]{
		reflect.TypeFor[time.Time](): rapid.Custom(func(t *rapid.T) time.Time {
			return rapid.SampledFrom([]time.Time{{}, time.Unix(rapid.Int64Range(0, 1<<37).Draw(t, "seconds"), rapid.Int64Range(0, 999999999).Draw(t, "ns"))}).Draw(t, "time")
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
		if quick := asEncodingJSON(t, b); !quick && !bytes.Contains(b, []byte(`\\ud`)) && !bytes.Contains(b, []byte(`\\uD`)) {
			t.Fatalf("there is a surprise in %s", b)
		}
	})
}

// surprises are what our servers do not write and encoding/json reads.
var surprises = []string{
	`{"ID":"j1"}`, `{"\u017fcope":"s"}`, `{"id":"a","id":"b"}`, `{"output":{"stdout":{"bytes":1},"stdout":{"lines":2}}}`, `{"output":{"stdout":null}}`,
	`{"output":{"stdout":{"Bytes":1}}}`, `{"name":"\ud800"}`, `{"name":"\ud800\ud800\udc00"}`, "{\"name\":\"\xff\"}", `{"seq":null}`, `null`, `{"created_at":null,"seq":null}`,
}

// What servers do not write is read as encoding/json reads it, too.
func TestStrangeResultIsReadAsByEncodingJSON(t *testing.T) {
	for _, in := range surprises {
		require.True(t, json.Valid([]byte(in)), in)
		require.False(t, asEncodingJSON(t, []byte(in)), in)
	}
	for _, in := range []string{
		`{}`, ` { "id" : "j1" , "pid" : -7 } `, `{"id":null,"argv":null,"pid":null,"output":null,"rusage":null,"oom":null,"text":null}`, `{"argv":[null,"a"],"flags":[]}`,
		`{"new":{"id":[1,2.5e-3,"\u0000"],"x":{}},"id":"\u006a1","\u0075id":"u"}`, `{"error":{"Code":"x"},"cause":{"by":"client","BY":"x"}}`,
		`{"survivors":[{"pid":1},null],"on_finish":[{"to":"a","seq":1}],"output":{"new":{"bytes":1},"stdout":{"elided":[{"from":1,"to":2}]}}}`,
	} {
		require.True(t, asEncodingJSON(t, []byte(in)), in)
	}
}

// What is wrong is refused with the sentence of encoding/json.
func TestBadInputJobObject(t *testing.T) {
	for _, in := range []string{
		``, `{`, `[]`, `{}x`, `{} {}`, `{"id":1}`, `{"pid":"1"}`, `{"pid":1.0}`, `{"pid":1e99}`, `{"seq":-1}`, `{"argv":{}}`, `{"created_at":"yesterday"}`, `{"created_at":"2026-11-22T08:00:00\u005a"}`,
		`{"output":[]}`, `{"output":{"stdout":{"bytes":"1"}}}`, `{"survivors":[{"pid":"1"}]}`, `{"id":"a\x"}`, "{\"id\":\"a\nb\"}", `{"oom":1}`, `{"new":01}`, `{"a":1,}`,
		strings.Repeat(`{"a":`, 20000) + "1" + strings.Repeat("}", 20000),
	} {
		var o jobObject
		want := json.Unmarshal([]byte(in), &o)
		require.Error(t, want, "%.99s", in)
		require.EqualError(t, new(Job).UnmarshalJSON([]byte(in)), want.Error(), "%.99s", in)
		require.Error(t, new(Result).UnmarshalJSON([]byte(in)), "%.99s", in)
	}
}

// FuzzResult: whatever comes is read as encoding/json reads it.
func FuzzResult(f *testing.F) {
	b, err := Result{Job: shortJob(), Text: &Shown{Text: "a\x1b\u2028"}}.MarshalJSON()
	require.NoError(f, err)
	f.Add(b)
	for _, in := range surprises {
		f.Add([]byte(in))
	}
	f.Add([]byte(`{"survivors":[{"pid":1,"state":"D"}],"on_finish":[{"to":"a","error":{"code":"x"}}],"error":{},"cause":{},"output":{"stderr":{"elided":[{"from":1}]}}}`))
	f.Fuzz(func(t *testing.T, in []byte) { asEncodingJSON(t, in) })
}

// asEncodingJSON checks how a text is read, and reports whether it was without a
// surprise.
func asEncodingJSON(t require.TestingT, b []byte) bool {
	var want, got resultObject
	err := json.Unmarshal(b, &want)
	quick := readAll(b, &got, result)
	if quick {
		require.NoError(t, err, "%q", b)
		require.Equal(t, want, got, "%q", b)
	}
	var r Result
	if rerr := r.UnmarshalJSON(b); err != nil {
		require.EqualError(t, rerr, err.Error(), "%q", b)
		return quick
	}
	require.Equal(t, want.job(), r.Job, "%q", b)
	return quick
}

// shortJob is the record of a command as most are.
func shortJob() messages.Job {
	at := time.Date(2026, 11, 22, 8, 0, 0, 123456789, time.UTC)
	return messages.Job{
		ID: "j1234", UID: "01JD9Z1R6YQ2Q4T2H0J7W3Q8XN", Scope: "main", Session: "default", Command: "bash -c true", Argv: []string{"bash", "-c", "true"},
		Mode: messages.ModeSync, Backend: "pipe", State: messages.Finished, Outcome: messages.Exited, Settled: true, Timeout: time.Hour, PID: 12345,
		Isolation: messages.InCgroup, Dir: "/src/project", Created: at, Started: at.Add(time.Millisecond), Ended: at.Add(3 * time.Millisecond),
		Rusage: messages.Rusage{User: time.Millisecond, System: time.Millisecond, MaxRSS: 3456}, Seq: 4711,
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

// BenchmarkReadResultByReflection is what it took before.
func BenchmarkReadResultByReflection(b *testing.B) {
	text, err := shortJob().MarshalJSON()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		var o resultObject
		if err := json.Unmarshal(text, &o); err != nil {
			b.Fatal(err)
		}
		_ = o.job()
	}
}
