package client

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/host"
	"troupe/messages"
)

// reply is one with a body.
func reply(status int, body string) string {
	return fmt.Sprintf("HTTP/1.1 %d Status\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", status, len(body), body)
}

func clientOf(tr *transport) *Client {
	c := &Client{base: "http://troupe"}
	c.http.dial = tr.dial
	return c
}

const (
	unknownJob   = `{"code":"not_found","reason":"","message":"there is no job"}`
	unknownRoute = `{"code":"not_found","reason":"route","message":"unknown path"}`
)

// A request is asked for each thousand jobs, not for each job: a daemon takes a hundred
// requests a second.
func TestManyAreRemovedByFewRequests(t *testing.T) {
	c := clientOf(daemon(t, reads(t,
		reply(200, `{"v":1,"jobs":[{"id":"j1"}],"refused":[{"job":"j2","error":`+unknownJob+`}]}`),
		reply(200, `{"v":1,"jobs":[{"id":"j3"}],"refused":[]}`),
	)))
	gone, refused, err := c.RemoveAll(t.Context(), make([]messages.JobID, 1001))
	require.NoError(t, err)
	require.Len(t, gone, 2)
	require.Equal(t, messages.JobID("j3"), gone[1].ID)
	require.Len(t, refused, 1)
	require.ErrorIs(t, refused[0], &messages.Error{Code: messages.NotFound})
}

// What a daemon of an older build does not know is told so, and not as a fault of who asks.
func TestAnOlderDaemonIsTold(t *testing.T) {
	c := clientOf(daemon(t, reads(t,
		reply(404, `{"v":1,"error":`+unknownRoute+`}`),
		reply(400, `{"v":1,"error":{"code":"invalid_params","reason":"open","message":"\"open\" is no field of this request"}}`),
		reply(400, `{"v":1,"error":{"code":"invalid_params","reason":"open","message":"wrong"}}`),
	)))
	c.daemon = "v0"
	for _, told := range []string{"troupe v0, is of an older build", "troupe v0, is of an older build", "wrong"} {
		_, err := host.Ask(t.Context(), c.Host(), messages.ReadScreen{Job: "j1"})
		require.ErrorContains(t, err, told)
	}
}

// A daemon of an older build, which a newer command may find, is asked for one job at a time.
func TestAnOlderDaemonRemovesOneAtATime(t *testing.T) {
	c := clientOf(daemon(t, reads(t,
		reply(404, `{"v":1,"error":`+unknownRoute+`}`),
		reply(404, `{"v":1,"error":`+unknownJob+`}`),
		reply(200, `{"v":1,"id":"j2"}`),
	)))
	gone, refused, err := c.RemoveAll(t.Context(), []messages.JobID{"j1", "j2"})
	require.NoError(t, err)
	require.Len(t, gone, 1)
	require.Equal(t, messages.JobID("j2"), gone[0].ID)
	require.Len(t, refused, 1)
	require.ErrorIs(t, refused[0], &messages.Error{Code: messages.NotFound})
}

// A daemon of an older build does not know live states: it is asked again for the records alone.
func TestAnOlderDaemonHasNoLiveStates(t *testing.T) {
	unknown := reply(400, `{"v":1,"error":{"code":"invalid_params","reason":"live","message":"\"live\" is no parameter of this request"}}`)
	c := clientOf(daemon(t, reads(t,
		unknown, reply(200, `{"v":1,"id":"j2"}`),
		unknown, reply(200, `{"v":1,"jobs":[{"id":"j1"}],"tasks":[]}`),
	)))
	found, err := host.Ask(t.Context(), c.Host(), messages.FindJob{Job: "j2", Live: true})
	require.NoError(t, err)
	require.Equal(t, messages.JobID("j2"), found.Job.ID)
	list, err := host.Ask(t.Context(), c.Host(), messages.ListJobs{Live: true})
	require.NoError(t, err)
	require.Len(t, list.Jobs, 1)
}
