package run

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/client"
	"troupe/internal/api"
	"troupe/messages"
)

// reply is what a daemon answers to a request for an output.
type reply func(http.ResponseWriter)

// sends is a part of an output of 13 bytes, which ends before a gap or at the end.
func sends(text, next, gaps string) reply {
	return func(w http.ResponseWriter) {
		w.Header().Set("Trailer", api.NextTrailer+", "+api.GapsTrailer)
		w.Header().Set(api.SizeHeader, "13")
		_, _ = io.WriteString(w, text)
		w.Header().Set(api.NextTrailer, next)
		w.Header().Set(api.GapsTrailer, gaps)
	}
}

// knowsNoJob is a daemon that our run has not reached yet.
func knowsNoJob(w http.ResponseWriter) {
	w.WriteHeader(http.StatusNotFound)
	_ = json.NewEncoder(w).Encode(api.ErrorBody{Error: *messages.NoSuchJob("U1")})
}

// outputOf returns the host of a job whose output has these replies, and the queries for them.
func outputOf(t *testing.T, replies ...reply) (*jobHost, chan string) {
	t.Helper()
	next, asked := make(chan reply, len(replies)), make(chan string, len(replies))
	for _, r := range replies {
		next <- r
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/version", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(api.About{})
	})
	mux.HandleFunc("GET /v1/jobs/U1/output", func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Query().Get("offset") + "+" + r.URL.Query().Get("limit")
		(<-next)(w)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	c, err := client.DialTCP(t.Context(), strings.TrimPrefix(server.URL, "http://"), "")
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	h := newRemote(c, false, false)
	h.id = "U1"
	h.markKnown()
	return h, asked
}

// An output is read on after a gap, by a daemon that does not know the job at first: no byte is
// missing or comes twice, and the offset counts the gap.
func TestTheOutputIsReadOn(t *testing.T) {
	t.Parallel()
	h, asked := outputOf(t, sends("abc", "10", "3-10"), knowsNoJob, sends("xyz", "13", ""))
	out, err := h.output(t.Context(), messages.Merged, 0, -1)
	require.NoError(t, err)
	b, err := io.ReadAll(out)
	require.NoError(t, err)
	require.Equal(t, "abcxyz", string(b))
	require.Equal(t, int64(13), out.Offset())
	require.Equal(t, []messages.OutputGap{{From: 3, To: 10}}, out.Gaps())
	require.NoError(t, out.Close())
	require.Equal(t, []string{"+", "10+", "10+"}, []string{<-asked, <-asked, <-asked})
}

// A part of an output ends at its last byte, though the stream goes on. Nothing is asked for an
// empty part.
func TestAPartOfTheOutput(t *testing.T) {
	t.Parallel()
	h, asked := outputOf(t, sends("bc", "3", ""))
	for to, want := range map[int64]string{3: "bc", 1: ""} {
		out, err := h.output(t.Context(), messages.Merged, 1, to)
		require.NoError(t, err)
		b, err := io.ReadAll(out)
		require.NoError(t, err)
		require.Equal(t, want, string(b))
		require.NoError(t, out.Close())
	}
	require.Equal(t, "1+2", <-asked)
}

// After the reply to the run, a daemon that does not know the job has forgotten it.
func TestTheOutputOfAForgottenJob(t *testing.T) {
	t.Parallel()
	h, _ := outputOf(t, knowsNoJob)
	close(h.answered)
	out, err := h.output(t.Context(), messages.Merged, 0, -1)
	require.NoError(t, err)
	_, err = io.ReadAll(out)
	require.ErrorIs(t, err, noSuchJob)
}
