package webhook_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/actors"
	"troupe/internal/gateway/webhook"
	"troupe/messages"
)

var _ actors.Webhooks = (*webhook.Sender)(nil)

var secret = []byte("0123456789abcdef0123456789abcdef")

// deliver makes one try at a server.
func deliver(t *testing.T, o webhook.Options, to string) messages.Delivered {
	t.Helper()
	s := webhook.New(o)
	told := make(chan messages.Delivered, 2)
	s.Deliver(messages.Delivery{To: to, Seq: 42, Job: messages.Record{ID: "j7", UID: "01JD", Command: "make", End: messages.End{Outcome: messages.Exited}}},
		func(d messages.Delivered) { told <- d })
	return <-told
}

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	return s.URL
}

// What is posted is the event, under its id, signed so that the receiver can tell.
func TestWebhookIsSigned(t *testing.T) {
	var header http.Header
	var body []byte
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		header = r.Header
		body, _ = io.ReadAll(r.Body)
		w.WriteHeader(http.StatusNoContent)
	})
	require.Equal(t, messages.Delivered{}, deliver(t, webhook.Options{Secret: secret}, url))
	require.Equal(t, "01JD.42", header.Get("webhook-id"))
	require.Equal(t, "application/json", header.Get("Content-Type"))
	text := "whsec_" + base64.StdEncoding.EncodeToString(secret)
	require.True(t, signed(text, header, body))
	var event struct {
		V, Seq int
		Event  string
		Job    struct{ ID, Command string }
	}
	require.NoError(t, json.Unmarshal(body, &event))
	require.Equal(t, 42, event.Seq)
	require.Equal(t, "command_finished", event.Event)
	require.Equal(t, "j7", event.Job.ID)

	require.False(t, signed("whsec_"+base64.StdEncoding.EncodeToString([]byte("another")), header, body))
	require.False(t, signed(text, header, append(body, ' ')))
	old := header.Clone()
	old.Set("webhook-timestamp", strconv.FormatInt(time.Now().Add(-6*time.Minute).Unix(), 10))
	old.Set("webhook-signature", webhook.Sign(secret, old.Get("webhook-id"), old.Get("webhook-timestamp"), body))
	require.False(t, signed(text, old, body))
	header.Set("webhook-id", "01JD.43")
	require.False(t, signed(text, header, body))
	require.False(t, signed(text, http.Header{}, body))
}

// The signature is the one of Standard Webhooks: their own example.
func TestWebhookSignsAsOthersDo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(path, []byte("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n"), 0o600))
	theirs, err := webhook.Secret(path)
	require.NoError(t, err)
	require.Equal(t, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
		webhook.Sign(theirs, "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", []byte(`{"test": 2432232314}`)))
}

// A status says whether the notice was taken, is refused for good, or is to come
// again, and when.
func TestWebhookAnswers(t *testing.T) {
	for status, want := range map[int]struct {
		taken, gone bool
		after       string
		least, most time.Duration
	}{
		200: {taken: true}, 202: {taken: true}, 299: {taken: true},
		301: {}, 307: {}, 400: {}, 404: {}, 500: {},
		410: {gone: true},
		429: {after: "120", least: 2 * time.Minute, most: 2 * time.Minute},
		503: {after: time.Now().Add(time.Hour).UTC().Format(http.TimeFormat), least: 59 * time.Minute, most: time.Hour},
		502: {after: "soon"}, 504: {after: "-5"}, 507: {after: "-99999999999999999999"},
		508: {after: "99999999999999999999", least: messages.MaxDuration, most: messages.MaxDuration},
	} {
		hits := 0
		url := serve(t, func(w http.ResponseWriter, r *http.Request) {
			hits++
			w.Header().Set("Location", "/elsewhere")
			w.Header().Set("Retry-After", want.after)
			w.WriteHeader(status)
		})
		got := deliver(t, webhook.Options{Secret: secret}, url)
		require.Equal(t, want.taken, got.Err == messages.Error{}, "%d: %v", status, got)
		require.Equal(t, want.gone, got.Gone, "%d: %v", status, got)
		require.Equal(t, 1, hits, "%d: a redirect was followed", status)
		if !want.taken {
			require.GreaterOrEqual(t, got.After, want.least, "%d", status)
			require.LessOrEqual(t, got.After, want.most, "%d", status)
			require.Contains(t, got.Err.Message, http.StatusText(status))
		}
	}
}

// A receiver that hangs, says too much, or is not there costs one try, and no more
// than its time; what is given up ends at once.
func TestFaultWebhookReceivers(t *testing.T) {
	hold := make(chan struct{})
	defer close(hold)
	hangs := func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-hold:
		case <-r.Context().Done():
		}
	}
	got := deliver(t, webhook.Options{Timeout: 50 * time.Millisecond}, serve(t, hangs))
	require.Equal(t, "timeout", got.Err.Reason)

	got = deliver(t, webhook.Options{Timeout: 50 * time.Millisecond}, serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		c, line, err := http.NewResponseController(w).Hijack() // it speaks another protocol, and says nothing
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		_, _ = line.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n")
		_ = line.Flush()
		_, _ = line.ReadByte() // until the other end is closed
	}))
	require.Equal(t, "http_101", got.Err.Reason)

	got = deliver(t, webhook.Options{Timeout: 10 * time.Second}, serve(t, func(w http.ResponseWriter, r *http.Request) {
		for i := 0; i < 100 && r.Context().Err() == nil; i++ {
			if _, err := w.Write(make([]byte, 1<<20)); err != nil {
				return
			}
		}
	}))
	require.Equal(t, messages.Error{}, got.Err)

	gone := httptest.NewServer(http.HandlerFunc(hangs))
	gone.Close()
	got = deliver(t, webhook.Options{}, gone.URL+"/?token=x")
	require.Equal(t, "unreachable", got.Err.Reason)
	require.NotContains(t, got.Err.Message, "token")
	got = deliver(t, webhook.Options{}, "http://[::1/")
	require.True(t, got.Gone)

	entered := make(chan struct{})
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		close(entered)
		hangs(w, r)
	})
	s, told := webhook.New(webhook.Options{}), make(chan messages.Delivered, 1)
	cancel := s.Deliver(messages.Delivery{To: url}, func(d messages.Delivered) { told <- d })
	<-entered
	cancel()
	require.NotEmpty(t, (<-told).Err.Message)
}

// The secret is made once, is its user's alone, and a file that is not is refused.
func TestSecurityWebhookSecret(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "secret")
	made, err := webhook.OwnSecret(path)
	require.NoError(t, err)
	again, err := webhook.OwnSecret(path)
	require.NoError(t, err)
	require.Equal(t, made, again)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(text), "whsec_"))

	refused := &messages.Error{Code: messages.Refused, Reason: "secret"}
	require.NoError(t, os.Chmod(path, 0o640))
	_, err = webhook.Secret(path)
	require.ErrorIs(t, err, refused)
	require.NoError(t, os.Chmod(path, 0o600))
	require.NoError(t, os.Symlink(path, filepath.Join(dir, "link")))
	_, err = webhook.Secret(filepath.Join(dir, "link"))
	require.Error(t, err)
	for _, bad := range []string{"", "short", "whsec_c2hvcnQ=", "whsec_!!!"} {
		require.NoError(t, os.WriteFile(path, []byte(bad), 0o600))
		_, err = webhook.Secret(path)
		require.ErrorIs(t, err, refused, "%q", bad)
	}
	_, err = webhook.OwnSecret(path)
	require.ErrorContains(t, err, path)
	require.ErrorContains(t, err, "remove it, and troupe makes a new one")
	_, err = webhook.Secret(filepath.Join(dir, "none"))
	require.True(t, errors.Is(err, os.ErrNotExist))
}

// A secret is there whole or not at all: whoever comes while it is made has the same.
func TestFaultWebhookSecretIsHalfMade(t *testing.T) {
	dir := t.TempDir()
	for n := range 50 {
		path := filepath.Join(dir, strconv.Itoa(n))
		made := make(chan string, 8)
		for range cap(made) {
			go func() {
				secret, err := webhook.OwnSecret(path)
				made <- fmt.Sprintf("%x %v", secret, err)
			}()
		}
		first := <-made
		require.Contains(t, first, "<nil>")
		for range cap(made) - 1 {
			require.Equal(t, first, <-made)
		}
	}
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 50)
}
