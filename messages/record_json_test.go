package messages_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"troupe/messages"
)

// anyJob draws records whose every field may hold anything of its type, also
// fields that are new.
func anyJob() *rapid.Generator[messages.Record] {
	escaped := rapid.SampledFrom([]string{
		"", "\x00\x1b\x7f\b\f\n\r\t", `"\/`, "<&>", "\u2028\u2029", "\xff", "\xed\xa0\x80", "ü€𐀀\ufffd", "a\xc3",
	})
	return rapid.MakeCustom[messages.Record](rapid.MakeConfig{
		Types: map[reflect.Type]*rapid.Generator[any]{
			reflect.TypeFor[time.Time](): rapid.Custom(func(t *rapid.T) time.Time {
				const year9999 = 253402214400
				at := time.Unix(rapid.Int64Range(-62135596800, year9999).Draw(t, "seconds"), rapid.Int64Range(0, 999999999).Draw(t, "nanoseconds"))
				zone := time.FixedZone("", rapid.IntRange(-12, 12).Draw(t, "hours")*3600)
				return rapid.SampledFrom([]time.Time{{}, time.Now(), at, at.UTC(), at.In(zone), at.Truncate(time.Second)}).Draw(t, "time")
			}).AsAny(),
			reflect.TypeFor[messages.Stream]():   rapid.SampledFrom([]messages.Stream{messages.Merged, messages.Stdout, messages.Stderr}).AsAny(),
			reflect.TypeFor[messages.Tristate](): rapid.SampledFrom([]messages.Tristate{messages.Unknown, messages.No, messages.Yes}).AsAny(),
			reflect.TypeFor[messages.State]():    rapid.SampledFrom([]messages.State{"", messages.Running, messages.Finished, messages.Retired}).AsAny(),
		},
		Kinds: map[reflect.Kind]*rapid.Generator[any]{
			reflect.String: rapid.OneOf(rapid.StringMatching(`[a-z /]{0,9}`), rapid.String(), escaped).AsAny(),
		},
	})
}

// The object of a record has the values of docs/cli.md, whatever is in the record.
func TestJobObjectIsThatOfTheDocument(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		job := anyJob().Draw(t, "job")
		job.Request = nil // TestRerunInJSON
		sameJSON(t, job)
	})
}

// The size of an output that is lost is null, beside one that is stored.
func TestJobObjectHasLostOutput(t *testing.T) {
	job := messages.Record{
		Flags: []messages.Flag{messages.FlagKept, messages.FlagOutputLost}, Output: []messages.StreamOutput{{Stream: messages.Stdout, Bytes: 5}, {Stream: messages.Stderr}},
	}
	sameJSON(t, job)
	for _, want := range []string{`"stderr":{"bytes":null,`, `"stderr":{"bytes":0,`} {
		text, err := json.Marshal(job)
		if err != nil || !bytes.Contains(text, []byte(want)) || !bytes.Contains(text, []byte(`"stdout":{"bytes":5,`)) {
			t.Errorf("%s, %v; want %s", text, err, want)
		}
		job.Flags = nil
	}
}

// Every stream has its place in the object, the last one that is told of it counts.
func TestJobObjectHasEveryStream(t *testing.T) {
	for _, streams := range [][]messages.Stream{
		nil, {messages.Merged}, {messages.Stdout, messages.Stderr}, {messages.Stderr, messages.Stdout}, {messages.Stdout, messages.Merged, messages.Stdout, messages.Stderr},
	} {
		var job messages.Record
		for i, s := range streams {
			job.Output = append(job.Output, messages.StreamOutput{Stream: s, Bytes: int64(i)})
		}
		sameJSON(t, job)
	}
}

// A time that RFC 3339 cannot tell is an error, as it is in encoding/json.
func TestJobObjectRefusesYears(t *testing.T) {
	job := messages.Record{End: messages.End{At: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}}
	_, want := json.Marshal(referenceOf(job))
	_, got := json.Marshal(job)
	if want == nil || got == nil {
		t.Fatalf("%v, want %v", got, want)
	}
}

type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

func sameJSON(t failer, job messages.Record) {
	t.Helper()
	var want, got any
	for v, into := range map[any]*any{any(&job): &got, any(new(referenceOf(job))): &want} {
		if err := json.Unmarshal(encoded(t, v), into); err != nil {
			t.Fatalf("%v", err)
		}
	}
	if !reflect.DeepEqual(want, got) {
		t.Fatalf("got  %s\nwant %s", encoded(t, job), encoded(t, referenceOf(job)))
	}
}

func encoded(t failer, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return b
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

func BenchmarkJobObject(b *testing.B) {
	job := shortJob()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := job.MarshalJSON(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkJobObjectByReflection is what it took before.
func BenchmarkJobObjectByReflection(b *testing.B) {
	job := shortJob()
	b.ReportAllocs()
	for b.Loop() {
		var out bytes.Buffer
		e := json.NewEncoder(&out)
		e.SetEscapeHTML(false)
		if err := e.Encode(referenceOf(job)); err != nil {
			b.Fatal(err)
		}
	}
}
