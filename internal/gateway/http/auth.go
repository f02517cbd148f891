package http

import (
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

	"troupe/internal/gateway/http/wire"
	"troupe/messages"
)

// guard looks at each request before it is routed. Pages of other sites reach a
// loopback port by a foreign Host (DNS rebinding) or with their Origin; both are
// refused before anything else is said.
func (s *Server) guard(next http.Handler) http.Handler {
	watch := newWatch(s.options.Token)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d, ok := r.Context().Value(connKey{}).(*clientConn)
		if !ok {
			panic(http.ErrAbortHandler) // a listener that Serve did not see
		}
		replyInTime(w)            // the server says "100 Continue" before there is a reply
		if r.ContentLength != 0 { // it waits for a body that nobody reads before it replies
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(strangerPatience))
		}
		err := watch.refusal(w.Header(), r)
		switch {
		case d.overLimit:
			w.Header().Set("Connection", "close")
			err = &messages.Error{Code: messages.ResourceExhausted, Reason: "connections", Message: "too many connections are open", Hint: "close some, then try again"}
		case err == nil && path.Clean(r.URL.Path) != r.URL.Path:
			err = noRoute()
		case err == nil:
			err = d.allowRequest(r.Header.Get(wire.ForHeader))
		}
		if err != nil {
			if d.gate.token && err.Code == messages.Refused {
				w.Header().Set("Connection", "close") // a stranger holds none
			}
			fail(w, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// RequireToken admits to a handler on a loopback address what Server admits there: who
// has the token, with a Host that is the server's, and no page of another site. Who is
// not admitted holds no connection, and nobody one with a body that does not come.
func RequireToken(token string, next http.Handler) http.Handler {
	watch := newWatch(token)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rc, body := http.NewResponseController(w), r.ContentLength != 0
		if body { // the server waits for it before it replies
			_ = rc.SetReadDeadline(time.Now().Add(strangerPatience))
		}
		if err := watch.refusal(w.Header(), r); err != nil {
			w.Header().Set("Connection", "close")
			fail(w, err)
			return
		}
		if body {
			_ = rc.SetReadDeadline(time.Now().Add(patience))
			r = r.WithContext(r.Context()) // a copy: the body is the server's
			r.Body = &timedBody{r.Body, rc}
		}
		next.ServeHTTP(w, r)
	})
}

// timedBody is a body that has its time to come; what is heard behind it has any.
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

// authCheck knows what a request must show.
type authCheck struct {
	token   string
	foreign *http.CrossOriginProtection
}

func newWatch(token string) *authCheck { return &authCheck{token, http.NewCrossOriginProtection()} }

// refusal is why a request may not come in: over a unix socket only as one of a
// page, over TCP for its Host and its token, too.
func (g *authCheck) refusal(h http.Header, r *http.Request) *messages.Error {
	at, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	_, local := at.(*net.UnixAddr)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	switch {
	case !local && !ourHost(at, r.Host):
		return refused("host", "the Host of the request is not this server's", "use 127.0.0.1, [::1] or localhost with the port of the server")
	case !ourOrigin(at, r.Header.Values("Origin")), g.foreign.Check(r) != nil:
		return refused("origin", "a page of another site sent the request", "send it from a program, without an Origin")
	case !local && !tokenMatches(g.token, r.Header.Values("Authorization")):
		h.Set("WWW-Authenticate", "Bearer")
		return refused("token", "the request has no token, or a wrong one", "send Authorization: Bearer and the token of the daemon's file")
	}
	return nil
}

func refused(reason, message, hint string) *messages.Error {
	return &messages.Error{Code: messages.Refused, Reason: reason, Message: message, Hint: hint}
}

func noRoute() *messages.Error {
	return &messages.Error{Code: messages.NotFound, Reason: "route", Message: "there is nothing of this name", Hint: "openapi.yaml tells what there is"}
}

// ourHost reports whether a Host names the loopback address that was reached.
func ourHost(at net.Addr, host string) bool {
	tcp, ok := at.(*net.TCPAddr)
	if !ok {
		return false
	}
	port := strconv.Itoa(tcp.Port)
	if tcp.Port == 80 && strings.LastIndexByte(host, ':') <= strings.LastIndexByte(host, ']') { // a client leaves out what http means
		host += ":80"
	}
	return slices.Contains([]string{"127.0.0.1:" + port, "localhost:" + port, "[::1]:" + port}, strings.ToLower(host))
}

// ourOrigin reports whether the request is of no page, or of one of our own. On
// a unix socket there is none.
func ourOrigin(at net.Addr, origins []string) bool {
	if len(origins) == 0 {
		return true
	}
	u, err := url.Parse(origins[0])
	return len(origins) == 1 && err == nil && u.Scheme == "http" && ourHost(at, u.Host)
}
