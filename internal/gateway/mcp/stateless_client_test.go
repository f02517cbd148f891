package mcp

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A client without a session ends after a period without requests. One that waits for its stream
// has a request open.
func TestAStatelessClientWithAnOpenRequestStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{Host: &slow{takes: time.Hour}, Scope: "mcp", Many: true})
		defer s.Close()
		known := func() bool {
			synctest.Wait()
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.shared["agent"] != nil
		}
		ask := func() (ends context.CancelFunc) {
			ctx, ends := context.WithCancel(t.Context())
			r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/mcp", nil)
			r.Header.Set(ClientHeader, "agent")
			require.NotNil(t, s.named(r))
			return ends
		}
		stream := ask()
		ask()()
		time.Sleep(2 * sharedIdle)
		require.True(t, known(), "its stream is open")
		stream()
		time.Sleep(sharedIdle - time.Nanosecond)
		require.True(t, known())
		time.Sleep(time.Nanosecond)
		require.False(t, known())
	})
}
