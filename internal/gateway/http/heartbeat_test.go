package http

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/messages"
)

// silent is a subscription on which nothing happens for a while, and that ends.
type silent struct{ until time.Time }

func (s silent) After() messages.Seq  { return 0 }
func (s silent) Newest() messages.Seq { return 0 }
func (s silent) Origin() string       { return "" }
func (s silent) Close() error         { return nil }

func (s silent) Next(ctx context.Context) (any, error) {
	timer := time.NewTimer(time.Until(s.until))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil, errors.New("the channel has ended")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// A stream on which nothing happens says every 15 s that it is still there, and
// at its end why it ended.
func TestEventsHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{Node: ended{}})
		record := httptest.NewRecorder()
		c := &request{Server: s, w: record, ctx: t.Context()}
		w := eventWriter{request: c, rc: http.NewResponseController(record)}
		w.relay(t.Context(), silent{time.Now().Add(40 * time.Second)})
		require.Equal(t, ": still here\n\n: still here\n\nevent: stream_ended\n"+
			`data: {"v":1,"seq":0,"event":"stream_ended","error":{"code":"internal","message":"the channel has ended"}}`+"\n\n", record.Body.String())
	})
}

// A body that does not come is not waited for beyond patience, and a header
// neither.
func TestServerIsNotHeldUp(t *testing.T) {
	s := New(Options{Node: ended{}})
	require.Equal(t, patience, s.local.ReadHeaderTimeout)
	require.Equal(t, strangerPatience, s.port.ReadHeaderTimeout)
	for _, over := range []*http.Server{s.local, s.port} {
		require.Equal(t, patience, over.IdleTimeout)
		require.Zero(t, over.WriteTimeout, "streams have no end")
		require.Zero(t, over.ReadTimeout, "it would cut off whoever waits for a run")
	}
}
