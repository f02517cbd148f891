package http

import (
	"net"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"troupe/messages"
)

// guard looks at each request before it is routed. Pages of other sites reach a
// loopback port by a foreign Host (DNS rebinding) or with their Origin; both are
// refused before anything else is said.
func (s *Server) guard(next http.Handler) http.Handler {
	foreign := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d, ok := r.Context().Value(doorKey{}).(*door)
		if !ok {
			panic(http.ErrAbortHandler) // a listener that Serve did not see
		}
		_ = http.NewResponseController(w).SetWriteDeadline(time.Time{}) // of the reply before
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		var err *messages.Error
		switch {
		case d.full:
			h.Set("Connection", "close")
			err = &messages.Error{Code: messages.ResourceExhausted, Reason: "connections", Message: "too many connections are open", Hint: "close some, then try again"}
		case d.gate.token && !s.ourHost(d, r.Host):
			err = refused("host", "the Host of the request is not this server's", "use 127.0.0.1, [::1] or localhost with the port of the server")
		case !s.ourOrigin(d, r.Header.Values("Origin")), foreign.Check(r) != nil:
			err = refused("origin", "a page of another site sent the request", "send it from a program, without an Origin")
		case d.gate.token && !tokenMatches(s.options.Token, r.Header.Values("Authorization")):
			h.Set("WWW-Authenticate", "Bearer")
			err = refused("token", "the request has no token, or a wrong one", "send Authorization: Bearer and the token of the daemon's file")
		case path.Clean(r.URL.Path) != r.URL.Path:
			err = noRoute()
		}
		if err != nil {
			s.fail(w, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func refused(reason, message, hint string) *messages.Error {
	return &messages.Error{Code: messages.Refused, Reason: reason, Message: message, Hint: hint}
}

func noRoute() *messages.Error {
	return &messages.Error{Code: messages.NotFound, Reason: "route", Message: "there is nothing of this name", Hint: "openapi.yaml tells what there is"}
}

// ourHost reports whether a Host names the loopback address that was reached.
func (s *Server) ourHost(d *door, host string) bool {
	_, port, err := net.SplitHostPort(d.LocalAddr().String())
	return err == nil && slices.Contains([]string{"127.0.0.1:" + port, "localhost:" + port, "[::1]:" + port}, strings.ToLower(host))
}

// ourOrigin reports whether the request is of no page, or of one of our own. On
// a unix socket there is none.
func (s *Server) ourOrigin(d *door, origins []string) bool {
	if len(origins) == 0 {
		return true
	}
	u, err := url.Parse(origins[0])
	return len(origins) == 1 && err == nil && d.gate.token && u.Scheme == "http" && s.ourHost(d, u.Host)
}
