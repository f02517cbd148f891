package http_test

import (
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/gateway/http"
	"troupe/internal/node"
	"troupe/messages"
)

// A run and a lease end with their client, also if he has sent something behind the
// request: the server looks no more for the end of the connection then.
func TestFaultClientsThatSendMoreAreMissed(t *testing.T) {
	const token = "0123456789012345678901234567890123456789012"
	d := start(t, func(_ *node.Options, o *http.Options) { o.Token = http.Token{Secret: token} })
	port := d.startTCP()
	const next = "GET /v1/version HTTP/1.1\r\nHost: localhost\r\n\r\n"
	for i, behind := range []string{"\n", "\r\n", next} {
		for network, at := range map[string]string{"unix": d.socket, "tcp": port} {
			asks := func(path, body string) net.Conn {
				conn, err := net.Dial(network, at)
				require.NoError(t, err)
				t.Cleanup(func() { _ = conn.Close() })
				_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nPrefer: processing\r\nContent-Length: %d\r\n\r\n%s",
					path, port, token, len(body), body)
				require.NoError(t, err)
				_, err = io.ReadFull(conn, make([]byte, len("HTTP/1.1 102"))) // it has begun
				require.NoError(t, err)
				_, err = io.WriteString(conn, behind)
				require.NoError(t, err)
				return conn
			}
			name := fmt.Sprintf("%s-%d", network, i)
			run := asks("/v1/jobs", `{"command":"sleep 600","name":"`+name+`"}`)
			require.NoError(t, run.Close())
			require.Equal(t, messages.Cancelled, d.awaits(messages.JobID(name), messages.Condition{}).End.Outcome)

			lease := asks("/v1/leases", `{"path":"`+name+`"}`)
			held := d.background(messages.RunCommand{Program: messages.Program{Text: "sleep 600"}, Scope: messages.ScopePath(name)})
			require.NoError(t, lease.(interface{ CloseWrite() error }).CloseWrite())
			require.Equal(t, messages.Cancelled, d.awaits(held.ID, messages.Condition{}).End.Outcome)
		}
	}
}
