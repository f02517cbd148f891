package rpcserve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"troupe/internal/cli/config"
	"troupe/internal/cli/out"
	"troupe/internal/gateway/http"
	"troupe/internal/gateway/http/peer"
	"troupe/messages"
)

// maxClients bounds the clients of a socket: each holds a lease, which takes a connection of
// the daemon.
const maxClients = 64

// listen serves the clients of a Unix socket until ctx ends. Only processes of the user that are
// not confined otherwise may connect. serving is called when clients find the socket.
func (s *server) listen(ctx context.Context, path string, serving func(path string)) error {
	path, err := config.FullPath("listen", path)
	if err != nil {
		return err
	}
	l, err := http.Listen(path)
	if errors.Is(err, &messages.Error{Code: messages.Conflict}) {
		return &messages.Error{
			Code: messages.Conflict, Reason: "socket", Message: "another server answers at " + path, Hint: "end it, or choose another path",
		}
	}
	if err != nil {
		return err
	}
	http.KeepSocket(l, s.log)
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()
	serving(path)
	rights := peer.OwnRights()
	places := make(chan struct{}, maxClients)
	var clients sync.WaitGroup
	defer clients.Wait()
	for {
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		conn, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return nil
			}
			return err
		}
		clients.Go(func() {
			defer func() { <-places }()
			defer conn.Close()
			err := s.admit(rights, conn)
			if err == nil {
				err = s.converse(ctx, conn)
			}
			if err != nil && ctx.Err() == nil {
				s.log.Warn("the connection of a client has failed", "error", err)
			}
		})
	}
}

// converse serves a client until the end of its input, or until it has closed the connection.
func (s *server) converse(ctx context.Context, conn net.Conn) error {
	if same, is := conn.(*net.UnixConn); is {
		file, err := same.File()
		if err != nil {
			return err
		}
		defer file.Close()
		reads, free := out.WithReader(ctx, file)
		defer free()
		ctx = reads
	}
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	err := s.serve(ctx, conn, conn)
	if errors.Is(context.Cause(ctx), out.ErrSIGPIPE) {
		return nil // the client has left
	}
	return err
}

// admit refuses other users, and a process that is confined where this one is not: its commands
// would leave its confinement.
func (s *server) admit(rights peer.Rights, conn net.Conn) error {
	local, ok := conn.(*net.UnixConn)
	if !ok {
		return fmt.Errorf("cannot determine the peer process of a %T", conn)
	}
	pid, err := peer.Check(local)
	if err != nil || s.at.AllowConfined {
		return err
	}
	if why := rights.Confinement(pid); why != "" {
		return &messages.Error{
			Code: messages.Refused, Reason: "confined", Message: "the client is confined and this server is not: " + why,
			Hint: "let it run troupe rpc itself, or set allow_confined = true",
		}
	}
	return nil
}
