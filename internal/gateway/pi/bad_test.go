package pi

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/dialect/omp"
)

// Each bad line gets its answer, which has the id if the line has one, and changes nothing.
func TestBadInputRPCPiLines(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", maxName)
	failure := func(id, command, why string) string {
		return fmt.Sprintf(`{%s"type":"response","command":"%s","success":false,"error":"%s"}`, id, command, why)
	}
	c := connects(t, played(echoes))
	for line, want := range map[string]string{
		``:                                       failure("", "parse", `the line is not JSON: unexpected end of JSON input`),
		`{`:                                      failure("", "parse", `the line is not JSON: unexpected end of JSON input`),
		`{"type":x}`:                             failure("", "parse", `the line is not JSON: invalid character 'x' looking for beginning of value`),
		`{} {}`:                                  failure("", "parse", `the line is not JSON: invalid character '{' after top-level value`),
		"\x00\x01":                               failure("", "parse", `the line is not JSON: invalid character '\\x00' looking for beginning of value`),
		"\xff":                                   failure("", "parse", `the line is not JSON: invalid character 'ï' looking for beginning of value`),
		"\ufeff{}":                               failure("", "parse", `the line is not JSON: invalid character 'ï' looking for beginning of value`),
		`null`:                                   failure("", "parse", `the line is null; it must be an object`),
		`5`:                                      failure("", "parse", `the line is a number; it must be an object`),
		` "bash"`:                                failure("", "parse", `the line is a string; it must be an object`),
		`[{"id":"1"}]`:                           failure("", "parse", `the line is a list; it must be an object`),
		`true`:                                   failure("", "parse", `the line is true or false; it must be an object`),
		`{}`:                                     failure("", "parse", `type is missing; it must be a string`),
		`{"id":"1"}`:                             failure(`"id":"1",`, "parse", `type is missing; it must be a string`),
		`{"type":null}`:                          failure("", "parse", `type is null; it must be a string`),
		`{"id":"1","type":["bash"]}`:             failure(`"id":"1",`, "parse", `type is a list; it must be a string`),
		`{"id":"1","type":7}`:                    failure(`"id":"1",`, "parse", `type is a number; it must be a string`),
		`{"id":"1","type":""}`:                   failure(`"id":"1",`, "", `unknown command \"\": use bash or abort_bash`),
		`{"id":"1","type":"Bash","command":"x"}`: failure(`"id":"1",`, "Bash", `unknown command \"Bash\": use bash or abort_bash`),
		`{"id":"1","Type":"bash","command":"x"}`: failure(`"id":"1",`, "parse", `type is missing; it must be a string`),
		`{"id":"1","type":"prompt","message":"hi"}`:                             failure(`"id":"1",`, "prompt", `unknown command \"prompt\": use bash or abort_bash`),
		`{"id":"1","type":"response","success":true}`:                           failure(`"id":"1",`, "response", `unknown command \"response\": use bash or abort_bash`),
		`{"id":"1","type":"` + long + `x"}`:                                     failure(`"id":"1",`, "parse", `the type has 4097 bytes; use bash or abort_bash`),
		`{"id":"1","type":"bash"}`:                                              failure(`"id":"1",`, "bash", `command is missing; it must be a string`),
		`{"id":"1","type":"bash","command":null}`:                               failure(`"id":"1",`, "bash", `command is null; it must be a string`),
		`{"id":"1","type":"bash","command":["ls"]}`:                             failure(`"id":"1",`, "bash", `command is a list; it must be a string`),
		`{"id":"1","type":"bash","command":{}}`:                                 failure(`"id":"1",`, "bash", `command is an object; it must be a string`),
		`{"id":"1","type":"bash","command":"x","excludeFromContext":"yes"}`:     failure(`"id":"1",`, "bash", `excludeFromContext is a string; it must be true or false`),
		`{"id":"1","type":"bash","command":"x","excludeFromContext":1}`:         failure(`"id":"1",`, "bash", `excludeFromContext is a number; it must be true or false`),
		`{"id":"` + long + `","type":"bash","command":"x"}`:                     failure("", "parse", `the id has 4098 bytes; at most 4096 are allowed`),
		strings.Repeat("[", 20000):                                              failure("", "parse", `the line is not JSON: invalid character '[' exceeded max depth`),
		`{"id":"1","type":"bash","command":"x","more":"` + "\u2028" + `"`:       failure("", "parse", `the line is not JSON: unexpected end of JSON input`),
		`{"id":"1","type":"bash","command":` + strings.Repeat("1", 2<<20) + `}`: failure(`"id":"1",`, "bash", `command is a number; it must be a string`),
	} {
		require.Equal(t, want, c.asks(line), "%.200q", line)
	}
	require.Contains(t, c.asks(`{"type":"bash","command":"x"}`), `"delta":"x"`, "it serves on")
	require.Contains(t, c.line(), `"success":true`)
	require.Empty(t, c.leaves())
}

// An id comes back as it was sent, whatever it is.
func TestBadInputRPCPiIDs(t *testing.T) {
	t.Parallel()
	c := connects(t, played(echoes))
	for sent, back := range map[string]string{
		`"req_1"`: `"req_1"`, `""`: `""`, `7`: `7`, `-0.10e+1`: `-0.10e+1`, `12345678901234567890123`: `12345678901234567890123`, `null`: `null`, `true`: `true`,
		`[1, "a"]`: `[1,"a"]`, `{ "a" : null }`: `{"a":null}`, `"\ud83d"`: `"\ud83d"`, `"<&>"`: `"<&>"`, "\"\xff\"": "\"\uFFFD\"", `"a\nb"`: `"a\nb"`,
	} {
		require.Equal(t, `{"id":`+back+`,"type":"response","command":"abort_bash","success":true}`, c.asks(`{"id":`+sent+`,"type":"abort_bash"}`))
		require.Equal(t, `{"type":"bash_execution_update","id":`+back+`,"delta":"x"}`, c.asks(`{"id":`+sent+`,"type":"bash","command":"x"}`))
		require.Contains(t, c.line(), `{"id":`+back+`,"type":"response","command":"bash","success":true`)
	}
	require.Empty(t, c.leaves())
}

// Frames of more than a MiB pass, up to the bound; one above it is refused, and the server goes on.
func TestBadInputRPCPiLongLines(t *testing.T) {
	t.Parallel()
	var got int
	c := connects(t, played(func(_ context.Context, command string, _ io.Writer) (omp.BashResult, error) {
		got = len(command)
		return omp.BashResult{}, nil
	}))
	around := len(`{"type":"bash","command":""}`)
	for _, n := range []int{1 << 20, maxLine - around} {
		require.Contains(t, c.asks(`{"type":"bash","command":"`+strings.Repeat("x", n)+`"}`), `"success":true`)
		require.Equal(t, n, got)
	}
	require.Equal(t, `{"type":"response","command":"parse","success":false,"error":"the line has more than 16777216 bytes"}`,
		c.asks(`{"id":"1","type":"bash","command":"`+strings.Repeat("x", maxLine)+`"}`))
	require.Contains(t, c.asks(`{"type":"bash","command":"x"}`), `"success":true`)
	require.Equal(t, 1, got)
	require.Empty(t, c.leaves())
}

// A reply to a question that was not asked, or not by this server, is no request.
func TestBadInputRPCPiLateReplies(t *testing.T) {
	t.Parallel()
	c := connects(t, played(echoes))
	c.says(`{"type":"extension_ui_response","id":"none","value":"x"}` + "\n" + `{"type":"extension_ui_response"}` + "\n")
	require.Contains(t, c.asks(`{"id":"1","type":"abort_bash"}`), `{"id":"1",`, "nothing came before")
	require.Empty(t, c.leaves())
}

func TestBadInputRPCPiTooManyCommands(t *testing.T) {
	t.Parallel()
	up := make(chan struct{})
	c := connects(t, played(func(ctx context.Context, command string, to io.Writer) (omp.BashResult, error) {
		up <- struct{}{}
		return holds(ctx, command, to)
	}))
	const line = `{"id":"1","type":"bash","command":"x"}`
	for range maxCommands {
		c.says(line + "\n")
		<-up
	}
	require.Equal(t, `{"id":"1","type":"response","command":"bash","success":false,"error":"limit of 32 commands at a time reached (wait for one, or end all with abort_bash)"}`, c.asks(line))
	c.says(`{"id":"1","type":"abort_bash"}` + "\n")
	for range maxCommands + 1 {
		require.Contains(t, c.line(), `"success":true`)
	}
	c.says(line + "\n")
	<-up
	c.says(`{"type":"abort_bash"}` + "\n")
	require.Equal(t, 2, strings.Count(c.line()+c.line(), `"success":true`))
	require.Empty(t, c.leaves())
}
