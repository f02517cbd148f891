package http

import (
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/api"
)

// An attachment that ends with its daemon passes its input lease to no client that waits for it.
// One whose client leaves passes it on.
func TestFaultTheLeaseOfAnEndingDaemon(t *testing.T) {
	for name, ends := range map[string]bool{"the daemon ends": true, "the client leaves": false} {
		t.Run(name, func(t *testing.T) {
			s := New(Options{})
			attached := func() *attachment {
				a := &attachment{request: &request{Server: s}, uid: "job", notices: make(chan api.AttachEvent, maxNotices)}
				s.join(a)
				return a
			}
			held := func(a *attachment) bool { return (<-a.notices).Held }
			holder, waits, asks := attached(), attached(), attached()
			s.change(holder, api.AttachAsk)
			require.True(t, held(holder))
			s.change(waits, api.AttachAsk)
			s.change(holder, api.AttachRefuse)
			require.False(t, held(waits))
			s.change(asks, api.AttachAsk)

			if ends {
				s.keepLease(holder)
			}
			s.leave(holder)
			if ends {
				require.Empty(t, asks.notices)
				require.Empty(t, waits.notices)
				return
			}
			require.True(t, held(asks))
		})
	}
}
