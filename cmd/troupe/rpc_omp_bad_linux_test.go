package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/test/need"
	"troupe/messages"
)

// ompScribe is a client of the agent that writes what it likes, with a prompt that runs.
type ompScribe struct {
	*scribe
	session string
	prompt  int
}

// ompScribed starts an agent with a running prompt in a session.
func (p *process) ompScribed(terminal bool) *ompScribe {
	p.t.Helper()
	w := &ompScribe{scribe: p.beside("rpc", "--dialect", "omp").scribed()}
	require.Nil(p.t, w.ask("initialize", params{"protocolVersion": 1, "clientCapabilities": params{"terminal": terminal}}).Error)
	w.session = w.opens(p.dir)
	w.prompt = w.sends("exec sleep 600")
	return w
}

func (w *ompScribe) opens(dir string) string {
	w.t.Helper()
	s := w.ask("session/new", params{"cwd": dir, "mcpServers": []any{}})
	require.Nil(w.t, s.Error)
	return s.Result["sessionId"].(string)
}

func (w *ompScribe) sends(command string) int {
	w.t.Helper()
	return w.send("session/prompt", params{"sessionId": w.session, "prompt": []any{params{"type": "text", "text": command}}})
}

// works checks that the agent answers, and that the prompt still runs.
func (w *ompScribe) works() {
	w.t.Helper()
	s := w.ask("session/prompt", params{"sessionId": w.session, "prompt": []any{params{"type": "text", "text": "true"}}})
	require.NotNil(w.t, s.Error)
	require.Contains(w.t, s.Error.Message, "a prompt is running")
}

// leaves closes the input. The prompt is answered, and the agent ends in order.
func (w *ompScribe) leaves() {
	w.t.Helper()
	require.NoError(w.t, w.in.Close())
	for {
		if s := w.answer(); s.ID == float64(w.prompt) {
			require.Equal(w.t, params{"stopReason": "cancelled"}, s.Result)
			break
		}
	}
	w.server.ends(0)
	require.NotContains(w.t, w.server.err.String(), "panic")
	require.NotContains(w.t, w.server.err.String(), "goroutine")
}

// Lines that are no messages get the error of the protocol, and what asks for nothing is
// passed over. A prompt runs on, and the agent serves.
func TestBadInputRPCOmpLines(t *testing.T) {
	t.Parallel()
	w := serves(t, nil).ompScribed(false)
	for _, c := range []struct {
		text string
		code int64 // 0: it is passed over
		id   any
	}{
		{`{`, -32700, nil},
		{"\x00\x01\x02", -32700, nil},
		{"\xff\xfe", -32700, nil},
		{strings.Repeat("[", 100_000), -32700, nil},
		{`{}{}`, -32700, nil},
		{`{"jsonrpc":"2.0","id":5,"method":"session/prompt","params":{"prompt":[{"type":"text","text":"echo > bad"`, -32700, nil},
		{`{"jsonrpc":"2.0","id":5,"id":6,"method":"initialize"}`, -32700, nil},
		{`[]`, -32600, nil},
		{`[{"jsonrpc":"2.0","id":6,"method":"initialize","params":{"protocolVersion":1}}]`, -32600, nil},
		{`null`, -32600, nil},
		{`7`, -32600, nil},
		{`"x"`, -32600, nil},
		{`{}`, -32600, nil},
		{`{"jsonrpc":"1.0","id":7,"method":"initialize"}`, -32600, 7.0},
		{`{"jsonrpc":"2.0"}`, -32600, nil},
		{`{"jsonrpc":"2.0","id":{},"method":"initialize"}`, -32600, nil},
		{`{"jsonrpc":"2.0","id":[8],"method":"initialize"}`, -32600, nil},
		{`{"jsonrpc":"2.0","id":true,"method":"initialize"}`, -32600, nil},
		{`{"jsonrpc":"2.0","id":"` + strings.Repeat("i", 2000) + `","method":"initialize"}`, -32600, nil},
		{`{"jsonrpc":"2.0","id":9,"method":1}`, -32600, 9.0},
		{`{"jsonrpc":"2.0","id":9,"result":{},"error":{}}`, -32600, nil},
		{``, 0, nil},
		{` ` + "\t\r", 0, nil},
		{`{"jsonrpc":"2.0","id":1,"result":{}}`, 0, nil},
		{`{"jsonrpc":"2.0","id":"x","result":null}`, 0, nil},
		{`{"jsonrpc":"2.0","id":1e99,"error":{"code":1,"message":"x"}}`, 0, nil},
		{`{"jsonrpc":"2.0","id":-1,"error":"x"}`, 0, nil},
		{`{"jsonrpc":"2.0","method":"session/nothing"}`, 0, nil},
		{`{"jsonrpc":"2.0","method":"session/cancel"}`, 0, nil},
		{`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"nothing"}}`, 0, nil},
		{`{"jsonrpc":"2.0","method":"session/cancel","params":[]}`, 0, nil},
		{`{"jsonrpc":"2.0","method":"session/prompt","params":{}}`, 0, nil},
		{`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":12345}}`, 0, nil},
		{`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":{}}}`, 0, nil},
		{`{"jsonrpc":"2.0","method":"$/cancel_request","params":{}}`, 0, nil},
	} {
		w.line(c.text)
		if c.code != 0 {
			s := w.answer()
			require.NotNil(t, s.Error, "%.100q", c.text)
			require.Equal(t, c.code, s.Error.Code, "%.100q", c.text)
			require.Equal(t, c.id, s.ID, "%.100q", c.text)
		}
		w.works()
	}
	w.leaves()
	require.NoFileExists(t, w.server.file("bad"))
}

// Requests with wrong values, for what is not there, and with ids of every kind.
func TestBadInputRPCOmpRequests(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	w := d.ompScribed(false)
	text := []any{params{"type": "text", "text": "echo > bad"}}
	for _, c := range []struct {
		method string
		params any
		code   int64
	}{
		{"", params{}, -32601},
		{"initialise", params{}, -32601},
		{"session/load", params{"sessionId": w.session, "cwd": "/"}, -32601},
		{"session/update", params{}, -32601},
		{"terminal/create", params{}, -32601},
		{"$/cancel_request", params{"requestId": 1}, -32601},
		{"initialize", nil, -32602},
		{"initialize", params{}, -32602},
		{"initialize", params{"protocolVersion": "1"}, -32602},
		{"initialize", params{"protocolVersion": 1e30}, -32602},
		{"initialize", params{"protocolVersion": 1, "clientCapabilities": "all"}, -32602},
		{"initialize", params{"protocolVersion": 1, "clientCapabilities": params{"terminal": "yes"}}, -32602},
		{"initialize", []any{1}, -32602},
		{"session/new", params{}, -32602},
		{"session/new", params{"cwd": ""}, -32602},
		{"session/new", params{"cwd": "here"}, -32602},
		{"session/new", params{"cwd": 7}, -32602},
		{"session/new", params{"cwd": "/nowhere/at/all"}, -32602},
		{"session/new", params{"cwd": "/dev/null"}, -32602},
		{"session/new", params{"cwd": "/a\x00b"}, -32602},
		{"session/new", params{"cwd": "/" + strings.Repeat("d", 100_000)}, -32602},
		{"session/new", params{"cwd": "/", "mcpServers": "none"}, -32602},
		{"session/prompt", params{"prompt": text}, -32002},
		{"session/prompt", params{"sessionId": "../x", "prompt": text}, -32002},
		{"session/prompt", params{"sessionId": 5, "prompt": text}, -32602},
		{"session/prompt", params{"sessionId": w.session}, -32602},
		{"session/prompt", params{"sessionId": w.session, "prompt": "echo > bad"}, -32602},
		{"session/prompt", params{"sessionId": w.session, "prompt": []any{}}, -32602},
		{"session/prompt", params{"sessionId": w.session, "prompt": []any{nil}}, -32602},
		{"session/prompt", params{"sessionId": w.session, "prompt": []any{params{"type": "text"}}}, -32602},
		{"session/prompt", params{"sessionId": w.session, "prompt": []any{params{"type": "text", "text": "a\x00b"}}}, -32602},
		{"session/prompt", params{"sessionId": w.session, "prompt": []any{params{"type": "text", "text": []string{"ls"}}}}, -32602},
		{"session/prompt", params{"sessionId": w.session, "prompt": []any{params{"type": "image", "data": ""}}}, -32602},
		{"session/prompt", params{"sessionId": w.session, "prompt": []any{params{"type": "resource_link", "uri": "http://x/y"}}}, -32602},
		{"session/prompt", params{"sessionId": w.session, "prompt": text}, -32600}, // one runs
		{"session/close", params{"sessionId": "nothing"}, -32002},
		{"session/close", params{}, -32002},
		{"session/close", "x", -32602},
	} {
		b, err := json.Marshal(params{"jsonrpc": "2.0", "id": "bad", "method": c.method, "params": c.params})
		require.NoError(t, err)
		if c.params == nil {
			b = []byte(fmt.Sprintf(`{"jsonrpc":"2.0","id":"bad","method":%q}`, c.method))
		}
		w.line(string(b))
		s := w.answer()
		require.Equal(t, "bad", s.ID)
		require.NotNil(t, s.Error, "%.200s", b)
		require.Equal(t, c.code, s.Error.Code, "%.200s", b)
		require.Less(t, len(s.Error.Message), 1000)
	}
	for _, id := range []string{`0`, `-7`, `1.5`, `1e300`, `99999999999999999999`, `""`, `"ä\n\u0000"`, `"12"`, `null`} {
		w.line(`{"jsonrpc":"2.0","id":` + id + `,"method":"nothing"}`)
		var want any
		require.NoError(t, json.Unmarshal([]byte(id), &want))
		require.Equal(t, want, w.answer().ID)
	}
	w.works()
	w.leaves()
	require.NoFileExists(t, d.file("bad"))
}

// Replies of a client's terminals that are wrong, late, or given twice end no more than their
// command.
func TestBadInputRPCOmpReplies(t *testing.T) {
	t.Parallel()
	w := serves(t, nil).ompScribed(true)
	expect := func(method string) string {
		for {
			s := w.hear()
			require.True(t, s.Method != "" || s.Error != nil, "%v", s)
			if s.Method == method {
				return fmt.Sprint(s.ID)
			}
		}
	}
	reply := func(id, result string) { w.line(`{"jsonrpc":"2.0","id":` + id + `,` + result + `}`) }
	first := expect("terminal/create")
	session := w.session
	for _, result := range []string{
		`"result":null`, `"result":{}`, `"result":"t1"`, `"result":{"terminalId":""}`, `"result":{"terminalId":7}`, `"result":[]`,
		`"error":{"code":1,"message":"no"}`, `"error":{}`, `"error":7`,
	} {
		w.session = w.opens("/")
		id := w.sends("true")
		create := expect("terminal/create")
		reply(create, result)
		reply(create, `"result":{"terminalId":"again"}`)
		for {
			if s := w.hear(); s.Method == "" {
				require.Equal(t, float64(id), s.ID)
				require.Equal(t, params{"stopReason": "end_turn"}, s.Result, result)
				break
			} else {
				require.Equal(t, "session/update", s.Method)
			}
		}
		require.Nil(t, w.ask("session/close", params{"sessionId": w.session}).Error)
	}
	w.session = session
	w.works()
	reply(first, `"result":{"terminalId":"t1"}`)
	wait := expect("terminal/wait_for_exit")
	reply(expect("terminal/output"), `"result":{"output":7}`)
	reply(expect("terminal/output"), `"result":{"output":"`+strings.Repeat("x", 2<<20)+`","truncated":false}`) // it keeps no bound
	w.works()
	require.NotEmpty(t, wait)
	w.leaves()
}

// A long prompt is a command; a line that is too long, or never ends, is refused and costs no
// more than its bound.
func TestBadInputRPCOmpLongLines(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	w := d.ompScribed(false)
	running := w.session
	w.session = w.opens(d.dir)
	id := w.sends("echo $((6*7)); true #" + strings.Repeat("x", 2<<20))
	for {
		s := w.hear()
		if s.Method == "" {
			require.Equal(t, float64(id), s.ID)
			break
		}
		if update := s.Params["update"].(params); update["status"] == "completed" {
			require.Contains(t, update["content"].([]any)[0].(params)["content"].(params)["text"], "42\n")
		}
	}
	s := w.ask("session/prompt", params{"sessionId": w.session, "prompt": []any{params{"type": "text", "text": strings.Repeat("x", messages.MaxText+1)}}})
	require.EqualValues(t, -32602, s.Error.Code)
	endless := []byte(strings.Repeat("x", 1<<20))
	for written := range 256 {
		_, err := w.in.Write(endless)
		require.NoError(t, err)
		most := procNumber(w.server.Process.Pid, "status", "VmHWM") // in KiB
		require.True(t, most < 300<<10 || need.Race, "%d KiB after %d MiB", most, written)
	}
	w.line("")
	s = w.answer()
	require.EqualValues(t, -32600, s.Error.Code)
	require.Nil(t, s.ID)
	w.session = running
	w.works()
	w.leaves()
}
