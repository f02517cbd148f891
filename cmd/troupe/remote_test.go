package main

import (
	"errors"
	"io"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/messages"
)

// A verb whose connection breaks says that the daemon has left, and not which
// request that was: "Post "http://troupe/v1/wait": EOF" helps nobody.
func TestAVerbSaysThatTheDaemonLeft(t *testing.T) {
	err := connected(&url.Error{Op: "Post", URL: "http://troupe/v1/wait", Err: io.EOF})
	require.ErrorIs(t, err, daemonLeft)
	require.Equal(t, "the daemon has left (troupe serve starts it again; troupe ps -a then says what became of the job)", coded(err).Error())

	require.Equal(t, "the daemon has left: it is no stream", brokenOff(errors.New("it is no stream")).Message)

	for _, other := range []error{nil, status(3), errors.New("full"), messages.Invalid("job", "none"), &url.Error{Op: "Get", Err: messages.Invalid("job", "none")}} {
		require.Equal(t, other, connected(other))
	}
}
