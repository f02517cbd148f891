package wire

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// What a client writes holds no surprise, also with fields that are new: it is read
// field by field, and as encoding/json reads it.
func TestClientsRunIsReadFieldByField(t *testing.T) {
	text := rapid.OneOf(rapid.StringMatching(`[ -~]{0,9}`), rapid.StringMatching(`[ -~äß€𐀀]{0,9}`), rapid.SampledFrom([]string{"<&>", "\"\\\n\r\t", "\x00\x1b\b\f", "\u2028"}))
	words := rapid.MapOfN(text, text, 0, 3)
	runs := rapid.MakeCustom[Run](rapid.MakeConfig{
		Kinds: map[reflect.Kind]*rapid.Generator[any]{reflect.String: text.AsAny()},
		Types: map[reflect.Type]*rapid.Generator[any]{reflect.TypeFor[map[string]string](): words.AsAny()},
	})
	rapid.Check(t, func(t *rapid.T) {
		w := runs.Draw(t, "run")
		b, err := json.Marshal(w)
		require.NoError(t, err)
		require.True(t, asDecode(t, b) || bytes.Contains(b, []byte(`\\ud`)), "%s", b)
	})
}

// What is no request of a run is refused as it is by encoding/json and its scanner,
// with the same words.
func TestBadInputRunIsNoSurprise(t *testing.T) {
	for _, in := range []string{
		``, `{`, `[]`, `null`, `{}x`, `{}{}`, `{"new":1}`, `{"Command":"a"}`, `{"command":"a","command":"b"}`, `{"command":1}`, `{"timeout_ms":1.5}`, `{"timeout_ms":"1"}`,
		`{"env":{"A":"1","A":"2"}}`, `{"env":{"A":1}}`, `{"terminal":{"rows":1,"x":1}}`, `{"terminal":{"rows":1,"rows":1}}`, `{"open":{"shell":"a","shell":"b"}}`, `{"open":{"x":1}}`, `{"open":{"terminal":{"x":1}}}`, `{"open":[]}`, `{"max_output":{"bytes":1e9}}`, `{"argv":"a"}`,
		`{"command":"\ud800"}`, "{\"command\":\"\xff\"}", "{\"command\":\"a\nb\"}", `{"command":"\x"}`, `{"background":1}`, `{"command":"a",}`,
		`{"argv":["a",null]}`, `{"base_env":[null]}`, `{"on_finish":[null]}`, `{"env":{"A":null}}`, `{"open":{"env":{"A":null}}}`, `{"open":{"base_env":[null]}}`,
	} {
		var one, two Run
		want := decode([]byte(in), &one)
		require.NotNil(t, want, in)
		require.Equal(t, want, Decode([]byte(in), &two), in)
	}
}

// FuzzRun: whatever comes is read, or refused, as by encoding/json.
func FuzzRun(f *testing.F) {
	for _, in := range []string{
		`{"command":"true"}`, `{"argv":["a",null],"env":{"A":"b"},"timeout_ms":5,"terminal":{"rows":1,"cols":2},"max_output":{"bytes":7,"policy":"x"}}`,
		`{"command":null,"env":null,"terminal":null,"background":true,"grace_ms":0}`, `{"env":{"env":"\u0041"}}`, `{"command":"\ud800\udc00"}`,
	} {
		f.Add([]byte(in))
	}
	f.Fuzz(func(t *testing.T, in []byte) { asDecode(t, in) })
}

// asDecode checks how a request is read, and reports whether it was without a
// surprise.
func asDecode(t require.TestingT, b []byte) bool {
	var want, got Run
	refused := decode(b, &want)
	quick := readAll(b, &got, run)
	if quick {
		require.Nil(t, refused, "%q", b)
		require.Equal(t, want, got, "%q", b)
	}
	return quick
}

func BenchmarkReadRun(b *testing.B) {
	text := shortRun()
	b.ReportAllocs()
	for b.Loop() {
		var w Run
		if err := Decode(text, &w); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReadRunByReflection(b *testing.B) {
	text := shortRun()
	b.ReportAllocs()
	for b.Loop() {
		var w Run
		if err := decode(text, &w); err != nil {
			b.Fatal(err)
		}
	}
}

// shortRun is a request as most of the command line's are, without its environment.
func shortRun() []byte {
	return []byte(`{"scope":"main","command":"make test","cwd":"/src/project","env_policy":"caller","base_env":["HOME=/home/user","PATH=/usr/bin:/bin"],"timeout_ms":60000}`)
}

// What is wrong with a value is said in a sentence.
func TestBadInputIsSaidInASentence(t *testing.T) {
	for body, want := range map[string]string{
		`{"open":[]}`:    "open cannot be an array; it must be an object",
		`{"command":{}}`: "command cannot be an object; it must be a string",
		`{"argv":"x"}`:   "argv cannot be a string; it must be a list",

		`{"argv":["a",null]}`:   "an element of argv is null; give a value, or leave it out",
		`{"env":{"A": null}}`:   `"A" of env is null; give a value, or leave it out`,
		`{"argv":[["a",null]]}`: "argv cannot be an array; it must be a string",
	} {
		var r Run
		if err := Decode([]byte(body), &r); err == nil || err.Message != want {
			t.Errorf("%s: got %v, want %q", body, err, want)
		}
	}
}
