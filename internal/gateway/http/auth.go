package http

import (
	"cmp"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"troupe/messages"
)

// guard checks each request before it is routed. Pages of other sites can reach a
// loopback port with a foreign Host (DNS rebinding) or with their Origin. Both are
// refused first.
func (s *Server) guard(next http.Handler) http.Handler {
	watch := newWatch(s.options.Token)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d, ok := r.Context().Value(connKey{}).(*clientConn)
		if !ok {
			panic(http.ErrAbortHandler) // Serve did not admit this listener
		}
		replyInTime(w)            // the server sends "100 Continue" before there is a reply
		if r.ContentLength != 0 { // the server waits for the unread body before it replies
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(strangerPatience))
		}
		err := watch.admit(d.placedConn, w.Header(), r)
		switch {
		case err != nil:
		case path.Clean(r.URL.Path) != r.URL.Path:
			err = noRoute()
		default:
			if err = d.allowed(); err == nil {
				err = d.allowRequest()
			}
		}
		if err != nil {
			fail(w, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// RequireToken guards a handler on a loopback address as Server guards its own. It
// admits requests with the token and the server's Host, and no pages of other sites. A
// refused request loses its connection, and a body must arrive in time.
func RequireToken(token Token, next http.Handler) http.Handler {
	watch := newWatch(token)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rc, body := http.NewResponseController(w), r.ContentLength != 0
		if body { // the server waits for it before it replies
			_ = rc.SetReadDeadline(time.Now().Add(strangerPatience))
		}
		d, _ := r.Context().Value(connKey{}).(*placedConn) // nil: not a listener of LimitConnections
		if err := watch.admit(d, w.Header(), r); err != nil {
			fail(w, err)
			return
		}
		if body {
			_ = rc.SetReadDeadline(time.Now().Add(patience))
			r = r.WithContext(r.Context()) // a copy: the body belongs to the server
			r.Body = &timedBody{r.Body, rc}
		}
		next.ServeHTTP(w, r)
	})
}

// timedBody is a body with a read deadline, which ends with the body.
type timedBody struct {
	io.ReadCloser
	rc *http.ResponseController
}

// Read implements io.Reader.
func (a *timedBody) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		_ = a.rc.SetReadDeadline(time.Time{})
	}
	return n, err
}

// authCheck checks the Host, the Origin and the token of requests.
type authCheck struct {
	token   Token
	foreign *http.CrossOriginProtection
}

func newWatch(token Token) *authCheck { return &authCheck{token, http.NewCrossOriginProtection()} }

// admit checks a request, and gives the connection of an allowed one its place. A refused
// one over TCP loses its connection: a client without the token keeps none.
func (g *authCheck) admit(d *placedConn, h http.Header, r *http.Request) *messages.Error {
	err := g.refusal(h, r)
	if err == nil && d != nil {
		err = d.admit()
	}
	if err != nil && !isLocal(r) {
		h.Set("Connection", "close")
	}
	return err
}

// isLocal reports whether a request came over a unix socket.
func isLocal(r *http.Request) bool {
	_, local := r.Context().Value(http.LocalAddrContextKey).(*net.UnixAddr)
	return local
}

// refusal returns why a request is refused. Over a unix socket only pages are refused;
// over TCP also a wrong Host or token.
func (g *authCheck) refusal(h http.Header, r *http.Request) *messages.Error {
	at, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	local := isLocal(r)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	switch {
	case !local && !ourHost(at, r.Host):
		return refused("host", "the Host of the request is not this server's", "use 127.0.0.1, [::1] or localhost with the port of the server")
	case !ourOrigin(at, r.Header.Values("Origin")), g.foreign.Check(r) != nil:
		return refused("origin", "a page of another site sent the request", "send it from a program, without an Origin")
	case !local && !g.token.matches(r.Header.Values("Authorization")):
		h.Set("WWW-Authenticate", "Bearer")
		return refused("token", "the request has no token, or a wrong one", "send Authorization: Bearer and the token in "+cmp.Or(g.token.File, "the file of the server"))
	}
	return nil
}

func refused(reason, message, hint string) *messages.Error {
	return &messages.Error{Code: messages.Refused, Reason: reason, Message: message, Hint: hint}
}

func noRoute() *messages.Error {
	return &messages.Error{Code: messages.NotFound, Reason: "route", Message: "unknown path", Hint: "openapi.yaml lists all paths"}
}

// ourHost reports whether a Host names the loopback address of the connection.
func ourHost(at net.Addr, host string) bool {
	tcp, ok := at.(*net.TCPAddr)
	if !ok {
		return false
	}
	port := strconv.Itoa(tcp.Port)
	if tcp.Port == 80 && strings.LastIndexByte(host, ':') <= strings.LastIndexByte(host, ']') { // clients omit the default port of http
		host += ":80"
	}
	return slices.Contains([]string{"127.0.0.1:" + port, "localhost:" + port, "[::1]:" + port}, strings.ToLower(host))
}

// ourOrigin reports whether a request comes from no page or from one of our own. A unix
// socket has no pages.
func ourOrigin(at net.Addr, origins []string) bool {
	if len(origins) == 0 {
		return true
	}
	u, err := url.Parse(origins[0])
	return len(origins) == 1 && err == nil && u.Scheme == "http" && ourHost(at, u.Host)
}
