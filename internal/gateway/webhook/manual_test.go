package webhook_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/internal/gateway/webhook"
	"troupe/messages"
)

// signed says whether body was sent by whoever has the secret, in the last minutes.
func signed(secret string, header http.Header, body []byte) bool {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	at, _ := strconv.ParseInt(header.Get("webhook-timestamp"), 10, 64)
	if err != nil || time.Since(time.Unix(at, 0)).Abs() > 5*time.Minute {
		return false
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", header.Get("webhook-id"), header.Get("webhook-timestamp"), body)
	want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	for _, given := range strings.Fields(header.Get("webhook-signature")) {
		if hmac.Equal([]byte(given), []byte(want)) {
			return true
		}
	}
	return false
}

// What the manual has a receiver do is what stands above, and it tells a notice from
// a forgery.
func TestTheManualVerifies(t *testing.T) {
	manual, err := os.ReadFile("../../../docs/notifications.md")
	require.NoError(t, err)
	_, text, _ := strings.Cut(string(manual), "```go\n")
	text, _, _ = strings.Cut(text, "```")
	own, err := os.ReadFile("manual_test.go")
	require.NoError(t, err)
	require.NotEmpty(t, text)
	require.Contains(t, string(own), text)

	var good, forged, other bool
	url := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		text := "whsec_" + base64.StdEncoding.EncodeToString(secret)
		good = signed(text, r.Header, body)
		forged = signed(text, r.Header, append(body, ' '))
		other = signed("whsec_b3RoZXI=", r.Header, body)
	})
	require.Equal(t, messages.Delivered{}, deliver(t, webhook.Options{Secret: secret}, url))
	require.True(t, good)
	require.False(t, forged || other)
}
