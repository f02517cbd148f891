package main

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	stdhttp "net/http"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"troupe/gateways/http"
)

// openNumbers begins to count, and tells the numbers where the settings say so.
func (d *daemon) openNumbers(token string) error {
	if err := d.numbers.follow(d.node); err != nil || d.settings.Metrics == "" {
		return err
	}
	l, err := http.ListenTCP(d.settings.Metrics)
	if err != nil {
		return err
	}
	d.log.Info().Str("address", l.Addr().String()).Msg("telling numbers")
	return d.numbers.serve(l, token)
}

// numbersPatience bounds how long one look may take.
const numbersPatience = 10 * time.Second

// serve tells the numbers on a loopback address until close.
func (n *numbers) serve(l net.Listener, token string) error {
	mux := stdhttp.NewServeMux()
	mux.Handle("GET /metrics", guarded(l.Addr().(*net.TCPAddr), token, promhttp.HandlerFor(n.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4})))
	server := &stdhttp.Server{Handler: mux, ReadTimeout: numbersPatience, WriteTimeout: numbersPatience, IdleTimeout: numbersPatience, MaxHeaderBytes: 16 << 10}
	go func() { _ = server.Serve(l) }()
	before := n.stop
	n.stop = func() {
		_ = server.Close()
		before()
	}
	return nil
}

// guarded admits who has the token, and no page of a browser: its Host would be
// another.
func guarded(at *net.TCPAddr, token string, next stdhttp.Handler) stdhttp.Handler {
	_, port, _ := net.SplitHostPort(at.String())
	hosts := []string{"127.0.0.1:" + port, "localhost:" + port, "[::1]:" + port}
	want := sha256.Sum256([]byte("Bearer " + token))
	return stdhttp.HandlerFunc(func(w stdhttp.ResponseWriter, r *stdhttp.Request) {
		have := sha256.Sum256([]byte(r.Header.Get("Authorization")))
		switch {
		case !slices.Contains(hosts, strings.ToLower(r.Host)) || r.Header.Get("Origin") != "":
			stdhttp.Error(w, "this is for programs of this machine only", stdhttp.StatusForbidden)
		case token == "" || subtle.ConstantTimeCompare(want[:], have[:]) != 1:
			w.Header().Set("WWW-Authenticate", "Bearer")
			stdhttp.Error(w, "send the token of the daemon's state directory", stdhttp.StatusUnauthorized)
		default:
			next.ServeHTTP(w, r)
		}
	})
}
