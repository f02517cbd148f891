package connect

import (
	"errors"
	"io"
	"net"
	"net/url"

	"troupe/client"
	"troupe/messages"
)

// DaemonLeft matches the errors of a broken connection.
var DaemonLeft = &messages.Error{Code: messages.Internal, Reason: "daemon"}

// BrokenOff returns the error of a broken connection. It leaves out the request, which
// a user did not type, and the cause if the daemon only closed the connection.
func BrokenOff(err error) *messages.Error {
	var at *url.Error
	if errors.As(err, &at) {
		err = at.Err
	}
	left := &messages.Error{
		Code: messages.Internal, Reason: "daemon", Message: "the connection to the daemon broke",
		Hint: "restart the daemon with troupe serve; then troupe ps -a shows what became of the job",
	}
	if !wasClosed(err) {
		left.Message += ": " + err.Error()
	}
	return left
}

// Connected replaces the error of a connection that broke before or during the reply by
// BrokenOff. It returns other errors unchanged.
func Connected(err error) error {
	var at *url.Error
	var line *net.OpError
	var coded *messages.Error
	broke := errors.As(err, &at) || errors.As(err, &line)
	for _, end := range []error{io.EOF, io.ErrUnexpectedEOF, client.ErrNoDaemon} {
		broke = broke || errors.Is(err, end)
	}
	if broke && !errors.As(err, &coded) {
		return BrokenOff(err)
	}
	return err
}
