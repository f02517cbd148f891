package http_test

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"troupe/client"
	"troupe/internal/api"
	"troupe/messages"
)

// attach connects to a job and takes the greeting.
func (d *daemon) attach(id messages.JobID, how client.AttachOptions) *attached {
	d.t.Helper()
	conn, err := d.client.Attach(d.t.Context(), id, how)
	require.NoError(d.t, err)
	a := &attached{Attachment: conn, t: d.t}
	d.t.Cleanup(func() { _ = a.Close() })
	hello := a.said(api.AttachHello)
	require.Equal(d.t, how.Offset, hello.Offset)
	return a
}

type attached struct {
	*client.Attachment
	t    *testing.T
	data []byte
}

// said waits for a message of a kind; what is printed meanwhile is kept.
func (a *attached) said(kind string) api.AttachEvent {
	a.t.Helper()
	for {
		ctx, cancel := context.WithTimeout(a.t.Context(), patience)
		h, err := a.Next(ctx)
		cancel()
		require.NoError(a.t, err, "while waiting for %s", kind)
		a.data = append(a.data, h.Data...)
		if h.Said.Kind == kind {
			return h.Said
		}
		if h.Said.Kind != "" && h.Said.Kind != api.AttachWritten {
			a.t.Fatalf("got %+v, want %s", h.Said, kind)
		}
	}
}

func (a *attached) says(kind string) {
	a.t.Helper()
	require.NoError(a.t, a.Say(a.t.Context(), api.AttachRequest{Kind: kind}))
}

// An attachment shows the output from an offset on, and writes to the job.
func TestAttach(t *testing.T) {
	d := start(t, nil)
	job := d.background(messages.RunCommand{Program: messages.Program{Text: "echo ready; while read x; do echo got $x; done; exit 4"}, Stdio: messages.Stdio{Stdin: messages.StdinPipe}})
	d.awaits(job.ID, messages.Condition{Kind: messages.UntilPattern, Pattern: "ready"})
	a := d.attach(job.ID, client.AttachOptions{Offset: 2, Lease: api.AttachAsk})
	require.True(t, a.said(api.AttachLease).Held)
	require.NoError(t, a.Write(t.Context(), []byte("one\n")))
	require.Equal(t, int64(4), a.said(api.AttachWritten).Through)
	require.NoError(t, a.Say(t.Context(), api.AttachRequest{Kind: api.AttachResize, Rows: 5, Cols: 5}))
	require.Equal(t, messages.Unsupported, a.said(api.AttachFailed).Error.Code)
	a.says("dance")
	require.Equal(t, "type", a.said(api.AttachFailed).Error.Reason)
	a.says(api.AttachCloseInput)
	end := a.said(api.AttachEnded)
	require.Equal(t, "ady\ngot one\n", string(a.data))
	require.Equal(t, int64(14), end.Offset)
	_, err := a.Next(t.Context())
	require.Equal(t, websocket.StatusNormalClosure, websocket.CloseStatus(err))
	require.Equal(t, 4, d.awaits(job.ID, messages.Condition{}).ExitCode())

	a = d.attach(job.ID, client.AttachOptions{}) // one that has ended is shown, too
	require.Equal(t, 4, a.said(api.AttachEnded).Job.ExitCode())
	require.Equal(t, "ready\ngot one\n", string(a.data))
}

// One writes, the others watch; the lease goes over by asking or by taking, and
// whoever had it is told.
func TestAttachLease(t *testing.T) {
	d := start(t, nil)
	job := d.background(messages.RunCommand{Program: messages.Program{Text: "cat"}, Stdio: messages.Stdio{Stdin: messages.StdinPipe}})
	one, two := d.attach(job.ID, client.AttachOptions{Lease: api.AttachAsk}), d.attach(job.ID, client.AttachOptions{})
	require.True(t, one.said(api.AttachLease).Held)
	require.NoError(t, two.Write(t.Context(), []byte("intruder\n")))
	refused := two.said(api.AttachFailed).Error
	require.Equal(t, messages.Refused, refused.Code)
	require.Contains(t, refused.Hint, "troupe attach --take")

	two.says(api.AttachAsk)
	one.said(api.AttachAsked)
	one.says(api.AttachRefuse)
	require.Equal(t, api.LeaseRefused, two.said(api.AttachLease).Reason)
	two.says(api.AttachAsk)
	one.said(api.AttachAsked)
	one.says(api.AttachYield)
	require.Equal(t, api.LeaseYielded, one.said(api.AttachLease).Reason)
	require.True(t, two.said(api.AttachLease).Held)
	require.NoError(t, two.Write(t.Context(), []byte("two\n")))
	two.said(api.AttachWritten)

	one.says(api.AttachTake)
	require.True(t, one.said(api.AttachLease).Held)
	lost := two.said(api.AttachLease)
	require.Equal(t, api.AttachEvent{Kind: api.AttachLease, Reason: api.LeaseTaken}, lost)
	two.says(api.AttachAsk)
	one.said(api.AttachAsked)
	require.NoError(t, one.Close()) // who goes gives it to whoever asked
	require.True(t, two.said(api.AttachLease).Held)
	two.says(api.AttachCloseInput)
	two.said(api.AttachEnded)
	require.Equal(t, "two\n", string(two.data))
}

// A client that reads nothing costs the others and the job nothing.
func TestFaultAttachedReaderStops(t *testing.T) {
	d := start(t, nil)
	job := d.background(messages.RunCommand{Program: messages.Program{Text: "read x; head -c 8000000 /dev/zero; read x; exit 3"}, Stdio: messages.Stdio{Stdin: messages.StdinPipe}})
	stalled := d.attach(job.ID, client.AttachOptions{})
	a := d.attach(job.ID, client.AttachOptions{Lease: api.AttachAsk})
	require.True(t, a.said(api.AttachLease).Held)
	require.NoError(t, a.Write(t.Context(), []byte("\n\n")))
	require.Equal(t, int64(8_000_000), a.said(api.AttachEnded).Offset)
	require.Len(t, a.data, 8_000_000)
	require.Equal(t, 3, d.awaits(job.ID, messages.Condition{}).ExitCode())
	require.NoError(t, stalled.Close())
}

// A job that does not read holds up neither what its client hears nor its going. What
// cannot be kept for it is refused, each piece, and the client stays attached.
func TestFaultAttachedJobDoesNotRead(t *testing.T) {
	d := start(t, nil)
	job := d.background(messages.RunCommand{Program: messages.Program{Text: "echo here; sleep 60"}, Stdio: messages.Stdio{Stdin: messages.StdinPipe}})
	a := d.attach(job.ID, client.AttachOptions{Lease: api.AttachTake})
	require.True(t, a.said(api.AttachLease).Held)
	const pieces = 100
	require.NoError(t, a.Write(t.Context(), make([]byte, pieces*api.MaxAttachInput)))
	a.says("dance")
	refused, last := 0, a.said(api.AttachFailed).Error
	for ; last.Code == messages.ResourceExhausted; last = a.said(api.AttachFailed).Error {
		refused++
	}
	require.Equal(t, "type", last.Reason)
	require.Greater(t, refused, pieces/2) // else they wait for the job
	require.NoError(t, a.Close())
	b := d.attach(job.ID, client.AttachOptions{Lease: api.AttachAsk})
	require.NotEmpty(t, b.said(api.AttachLease).Reason)
}

// The size of a terminal changes though its job reads nothing of what is typed.
func TestFaultAttachedTerminalIsFull(t *testing.T) {
	d := start(t, nil)
	job := d.background(messages.RunCommand{
		Program: messages.Program{Text: "trap 'stty size' WINCH; stty raw -echo; echo up; while :; do sleep 60 & wait; done"}, Stdio: messages.Stdio{Terminal: messages.Terminal{Rows: 24, Cols: 80}},
	})
	d.awaits(job.ID, messages.Condition{Kind: messages.UntilPattern, Pattern: "up"})
	a := d.attach(job.ID, client.AttachOptions{Lease: api.AttachTake})
	require.True(t, a.said(api.AttachLease).Held)
	require.NoError(t, a.Write(t.Context(), make([]byte, 2*api.MaxAttachInput)))
	require.NoError(t, a.Say(t.Context(), api.AttachRequest{Kind: api.AttachResize, Rows: 33, Cols: 66}))
	d.awaits(job.ID, messages.Condition{Kind: messages.UntilPattern, Pattern: "33 66"})
}

// The server ends those who are attached; the job goes on.
func TestAttachedUntilTheServerEnds(t *testing.T) {
	d := start(t, nil)
	job := d.background(messages.RunCommand{Program: messages.Program{Text: "sleep 60"}})
	a := d.attach(job.ID, client.AttachOptions{})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, d.server.Close(ctx))
	_, err := a.Next(t.Context())
	require.Error(t, err)
	still, err := d.node.Job(t.Context(), job.ID)
	require.NoError(t, err)
	require.Equal(t, messages.Running, still.State)
}

func TestBadInputAttach(t *testing.T) {
	d := start(t, nil)
	job := d.run("true")
	at := "/v1/jobs/" + string(job.ID) + "/attach"
	d.refused(t, "GET", at+"?offset=-1", "", 400, messages.InvalidParams, "offset")
	d.refused(t, "GET", at+"?lease=yes", "", 400, messages.InvalidParams, "lease")
	d.refused(t, "GET", at+"?stream=stdout", "", 400, messages.InvalidParams, "stream")
	d.refused(t, "GET", "/v1/jobs/j99/attach", "", 404, messages.NotFound, "")
	d.refused(t, "GET", at, "", 426, messages.InvalidParams, "upgrade")
	good := map[string]string{"Connection": "keep-alive, Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA=="}
	for name, bad := range map[string]string{"Connection": "close", "Upgrade": "h2c", "Sec-WebSocket-Version": "8", "Sec-WebSocket-Key": "short"} {
		var headers []string
		for of, value := range good {
			if of == name {
				value = bad
			}
			headers = append(headers, of, value)
		}
		reply := d.reply("GET", at, "", headers...)
		require.Equal(t, 426, reply.StatusCode, name)
		require.Equal(t, "application/json", reply.Header.Get("Content-Type"), name)
		require.Equal(t, "13", reply.Header.Get("Sec-WebSocket-Version"), name)
		require.NoError(t, reply.Body.Close())
	}
	_, err := d.client.Attach(t.Context(), "j99", client.AttachOptions{})
	coded(t, err, messages.NotFound, "")
}

// S08: a page of another site gets no WebSocket, on either listener.
func TestSecurityWebSocketOrigin(t *testing.T) {
	d := start(t, nil)
	job := d.run("true")
	conn, err := net.Dial("unix", d.socket)
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, strings.Join([]string{
		"GET /v1/jobs/" + string(job.ID) + "/attach HTTP/1.1", "Host: troupe", "Origin: https://evil.example", "Connection: Upgrade", "Upgrade: websocket",
		"Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==", "", "",
	}, "\r\n"))
	require.NoError(t, err)
	answer := make([]byte, len("HTTP/1.1 403"))
	_, err = io.ReadFull(conn, answer)
	require.NoError(t, err)
	require.Equal(t, "HTTP/1.1 403", string(answer))
}

// Who was refused the lease, or has lost it, is given it when those before him have gone.
func TestAttachLeaseIsGivenOn(t *testing.T) {
	d := start(t, nil)
	job := d.background(messages.RunCommand{Program: messages.Program{Text: "cat"}, Stdio: messages.Stdio{Stdin: messages.StdinPipe}})
	one, watches := d.attach(job.ID, client.AttachOptions{Lease: api.AttachAsk}), d.attach(job.ID, client.AttachOptions{})
	require.True(t, one.said(api.AttachLease).Held)
	two := d.attach(job.ID, client.AttachOptions{Lease: api.AttachAsk})
	one.said(api.AttachAsked)
	one.says(api.AttachRefuse)
	require.Equal(t, api.LeaseRefused, two.said(api.AttachLease).Reason)
	three := d.attach(job.ID, client.AttachOptions{Lease: api.AttachTake})
	require.True(t, three.said(api.AttachLease).Held)
	require.Equal(t, api.LeaseTaken, one.said(api.AttachLease).Reason)
	require.NoError(t, three.Close())
	require.Equal(t, api.AttachEvent{Kind: api.AttachLease, Held: true, Reason: api.LeaseGranted}, one.said(api.AttachLease))
	require.NoError(t, one.Close())
	require.True(t, two.said(api.AttachLease).Held)
	require.NoError(t, two.Write(t.Context(), []byte("two\n")))
	two.said(api.AttachWritten)
	two.says(api.AttachYield)
	require.Equal(t, api.LeaseYielded, two.said(api.AttachLease).Reason)
	require.NoError(t, watches.Write(t.Context(), []byte("intruder\n")))
	require.Equal(t, "the input lease is free, and this attachment does not have it", watches.said(api.AttachFailed).Error.Message)
}
