package inject

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/faults"
	"troupe/messages"
)

// receiver takes every notice a second after its try began, unless the try is cancelled before.
type receiver struct{ tries, taken int }

func (r *receiver) Deliver(_ messages.Delivery, done func(messages.Delivered)) (cancel func()) {
	r.tries++
	stop := make(chan struct{})
	go func() {
		select {
		case <-stop:
			done(messages.Delivered{Err: messages.Error{Code: messages.Internal, Reason: "cancelled"}})
		case <-time.After(time.Second):
			r.taken++
			done(messages.Delivered{})
		}
	}()
	return func() { close(stop) }
}

// A notice to a URL is lost, doubled or late as its rule says, its try has one result, and a try
// that is cancelled ends at once, in whichever part of it.
func TestNoticesToURLs(t *testing.T) {
	for name, c := range map[string]struct {
		do     string
		cancel time.Duration // after the try began; 0: never
		tries  int           // that reach the receiver
		taken  int
		took   time.Duration
		fails  bool
	}{
		"lost":                         {do: `do = "drop"`},
		"doubled":                      {do: `do = "duplicate"`, tries: 2, taken: 2, took: 2 * time.Second},
		"late":                         {do: "do = \"delay\"\nfor = \"5s\"", tries: 1, taken: 1, took: 6 * time.Second},
		"reordered":                    {do: `do = "reorder"`, tries: 1, taken: 1, took: reorderPatience + time.Second},
		"cancelled while late":         {do: "do = \"delay\"\nfor = \"5s\"", cancel: 3 * time.Second, took: 3 * time.Second, fails: true},
		"cancelled at the receiver":    {do: "do = \"delay\"\nfor = \"5s\"", cancel: 5500 * time.Millisecond, tries: 1, took: 5500 * time.Millisecond, fails: true},
		"cancelled in the second copy": {do: `do = "duplicate"`, cancel: 1500 * time.Millisecond, tries: 2, taken: 1, took: 1500 * time.Millisecond, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				plan, err := faults.Parse("plan", []byte("[[rule]]\nwhere = \"notice\"\n"+c.do+"\n"))
				require.NoError(t, err)
				in, err := New(plan, t.TempDir())
				require.NoError(t, err)
				to, began := &receiver{}, time.Now()
				results := make(chan messages.Delivered, 2)
				cancel := in.Webhooks(to).Deliver(messages.Delivery{}, func(d messages.Delivered) { results <- d })
				if c.cancel > 0 {
					time.AfterFunc(c.cancel, cancel)
				}
				result := <-results
				require.Equal(t, c.took, time.Since(began))
				require.Equal(t, c.fails, result.Err.Code != "")
				synctest.Wait()
				require.Empty(t, results)
				require.Equal(t, receiver{c.tries, c.taken}, *to)
			})
		})
	}
}
