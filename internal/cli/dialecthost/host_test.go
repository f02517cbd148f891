package dialecthost

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/client"
	"troupe/host"
	"troupe/messages"
)

// A daemon goes on when another troupe is installed: one that does not know of views of
// two streams is said to be older, and what to do; its own words are about what its caller
// never wrote.
func TestMCPHostKnowsAnOlderDaemon(t *testing.T) {
	t.Parallel()
	for _, behind := range [][2]int64{{0, 0}, {3, 0}} {
		at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v1/version" {
				_, _ = w.Write([]byte(`{"v":1,"version":"1","pid":1}`))
				return
			}
			reason := "stream"
			if r.URL.Query().Has("offset_stdout") {
				reason = "offset_stdout"
			}
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"v":1,"error":{"code":"invalid_params","reason":"` + reason + `","message":"there is no such"}}`))
		}))
		defer at.Close()
		h := &Host{Find: func() (*client.Client, error) {
			return client.DialTCP(t.Context(), strings.TrimPrefix(at.URL, "http://"), "token")
		}}
		_, err := host.Ask(t.Context(), h, messages.ReadOutput{
			Job: "j1", Stream: messages.Both, View: messages.View{Kind: messages.ViewTail, Bytes: 99}, After: behind, Plain: true,
		})
		require.ErrorIs(t, err, &messages.Error{Code: messages.Unsupported, Reason: "daemon"})
		require.ErrorContains(t, err, "older than this troupe")
	}
}
