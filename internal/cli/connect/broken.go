package connect

import (
	"errors"
	"io"
	"net"
	"net/url"

	"troupe/client"
	"troupe/messages"
)

// DaemonLeft is a connection that broke.
var DaemonLeft = &messages.Error{Code: messages.Internal, Reason: "daemon"}

// BrokenOff is the error of a connection that broke. Which request it was says
// nothing to who has typed a verb, nor does how it broke if somebody closed it.
func BrokenOff(err error) *messages.Error {
	var at *url.Error
	if errors.As(err, &at) {
		err = at.Err
	}
	left := &messages.Error{
		Code: messages.Internal, Reason: "daemon", Message: "the daemon has left",
		Hint: "troupe serve starts it again; troupe ps -a then says what became of the job",
	}
	if !wasClosed(err) {
		left.Message += ": " + err.Error()
	}
	return left
}

// Connected is the error of a verb; one of its connection says that this broke, be it
// before the reply or in the middle of it.
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
