package api

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/messages"
)

// What is wrong with a request is said in a sentence, with the name of the field.
func TestBadInputIsSaidInASentence(t *testing.T) {
	for body, want := range map[string]struct{ reason, message string }{
		``:                                    {"body", "the request has no body; send a JSON object, {} if there is nothing to say"},
		`[]`:                                  {"body", "body cannot be an array; it must be an object"},
		`null`:                                {"body", "the body is not a JSON object"},
		`{}x`:                                 {"parse_error", "something follows the JSON object; send one"},
		`{}{}`:                                {"parse_error", "something follows the JSON object; send one"},
		`{"new":1}`:                           {"new", `"new" is no field of this request`},
		`{"Command":"a"}`:                     {"Command", `"Command" is no field of this request`},
		`{"ſcope":"a"}`:                       {"ſcope", `"ſcope" is no field of this request`},
		`{"open":{"x":1}}`:                    {"x", `"x" is no field of this request`},
		`{"open":{"terminal":{"y":1}}}`:       {"y", `"y" is no field of this request`},
		`{"command":"a","command":"b"}`:       {"command", `"command" is given twice`},
		`{"open":{"shell":"a","shell":""}}`:   {"shell", `"shell" is given twice`},
		`{"environment":{"set":[],"set":[]}}`: {"set", `"set" is given twice`},
		`{"command":1}`:                       {"command", "command cannot be a number; it must be a string"},
		`{"command":{"base64":1}}`:            {"command.base64", "command.base64 cannot be a number; it must be a string"},
		`{"command":{"base64":"?"}}`:          {"command", "invalid base64 in command: illegal base64 data at input byte 0"},
		`{"command":{"text":"a"}}`:            {"text", `"text" is no field of this request`},
		`{"open":[]}`:                         {"open", "open cannot be an array; it must be an object"},
		`{"argv":"x"}`:                        {"argv", "argv cannot be a string; it must be a list"},
		`{"argv":[["a",null]]}`:               {"argv", "argv cannot be an array; it must be a string"},
		`{"argv":["a",null]}`:                 {"argv", "an element of argv is null; give a value, or leave it out"},
		`{"open":{"environment":{"base":[null]}}}`: {"base", "an element of base is null; give a value, or leave it out"},
		`{"environment":{"set":[1]}}`:              {"environment.set", "environment.set cannot be a number; it must be a string"},
		`{"environment":[]}`:                       {"environment", "environment cannot be an array; it must be an object"},
		`{"persist":1}`:                            {"persist", "persist cannot be a number; it must be true or false"},
		`{"mode":1}`:                               {"mode", "mode cannot be a number; it must be a string"},
		`{"timeout_ms":1.5}`:                       {"timeout_ms", "timeout_ms cannot be a number 1.5; it must be a whole number"},
		`{"timeout_ms":"1"}`:                       {"timeout_ms", "timeout_ms cannot be a string; it must be a whole number"},
		`{"timeout_ms":0}`:                         {"timeout_ms", "timeout_ms must be a positive number of milliseconds, at most ten years; leave it out for none"},
		`{"grace_ms":-1}`:                          {"grace_ms", "grace_ms must be a number of milliseconds, 0 to kill at once, at most ten years; leave it out for the usual grace"},
		`{"terminal":{"rows":5,"cols":0}}`:         {"invalid_size", "a terminal of 5 rows and 0 columns is impossible; use 1 to 65535 of each"},
		`{"terminal":{"rows":1e99}}`:               {"terminal.rows", "terminal.rows cannot be a number 1e99; it must be a whole number"},
		"{\"command\":\"\xff\"}":                   {"utf8", "the body is not UTF-8 text; send bytes in base64"},
	} {
		var r messages.RunCommand
		err := Decode([]byte(body), &r)
		require.NotNil(t, err, body)
		err.Hint = "" // the next test
		require.Equal(t, &messages.Error{Code: messages.InvalidParams, Reason: want.reason, Message: want.message}, err, body)
	}
}

// An unknown field or parameter is answered with the one that may be meant, of the object in
// which it is.
func TestUnknownNamesAreAnsweredWithTheNearest(t *testing.T) {
	for body, hint := range map[string]string{
		`{"Command":"a"}`: "did you mean command?", `{"timeuot_ms":1}`: "did you mean timeout_ms?", `{"idempotency":""}`: "", `{"env":{}}`: "",
		`{"open":{"enviroment":{}}}`: "did you mean environment?", `{"open":{"timeout_m":1}}`: "", `{"terminal":{"colls":1}}`: "did you mean cols?",
		`{"command":{"bas64":""}}`: "did you mean base64?",
	} {
		var r messages.RunCommand
		err := Decode([]byte(body), &r)
		require.NotNil(t, err, body)
		require.Equal(t, hint, err.Hint, body)
	}
	routes := prepared([]Route{{Method: "GET", Path: "/jobs", Request: messages.ListJobs{}}})
	_, err := routes[0].Query("finishd=true")
	require.NotNil(t, err)
	require.Equal(t, `"finishd" is no parameter of this request (did you mean finished?)`, err.Error())
}

// What is no JSON is refused, and says where.
func TestBadInputIsNoJSON(t *testing.T) {
	for body, reason := range map[string]string{
		`{`: "parse_error", `{"command":"a",}`: "parse_error", `{"command":"\x"}`: "parse_error", "{\"command\":\"a\nb\"}": "parse_error", `{"terminal":{"rows":01}}`: "parse_error",
		`{"command":"\ud800"}`: "utf8", `{"command":"\ud800\ud800"}`: "utf8", `{"command":"\udc00"}`: "utf8",
		strings.Repeat(`{"open":`, 20000): "open", strings.Repeat(`[`, 20000): "body",
	} {
		var r messages.RunCommand
		err := Decode([]byte(body), &r)
		require.NotNil(t, err, "%.99s", body)
		require.Equal(t, reason, err.Reason, "%.99s: %s", body, err.Message)
	}
}

// A null field is the same as an absent one.
func TestNullIsAbsent(t *testing.T) {
	var r messages.RunCommand
	require.Nil(t, Decode([]byte(`{"command":null,"environment":null,"argv":null,"terminal":null,"mode":null,"open":null,"grace_ms":null,"scope":null}`), &r))
	require.Equal(t, messages.RunCommand{}, r)
}

func BenchmarkReadRun(b *testing.B) {
	text := []byte(`{"scope":"main","command":"make test","cwd":"/src/project","environment":{"policy":"caller","base":["HOME=/home/user","PATH=/usr/bin:/bin"]},"timeout_ms":60000}`)
	b.ReportAllocs()
	for b.Loop() {
		var w messages.RunCommand
		if err := Decode(text, &w); err != nil {
			b.Fatal(err)
		}
	}
}
