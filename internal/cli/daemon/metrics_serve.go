package daemon

import (
	"net"
	stdhttp "net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"troupe/internal/gateway/http"
)

// Bounds of those who look at the numbers.
const (
	metricsPatience = 10 * time.Second // for one look
	maxLookers      = 16               // connections: anybody on the machine can open one, and each is a descriptor
)

// serve tells the numbers on a loopback address until close.
func (n *metrics) serve(l net.Listener, token string) {
	mux := stdhttp.NewServeMux()
	mux.Handle("GET /metrics", http.RequireToken(token, promhttp.HandlerFor(n.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4})))
	server := &stdhttp.Server{Handler: mux, ReadTimeout: metricsPatience, WriteTimeout: metricsPatience, IdleTimeout: metricsPatience, MaxHeaderBytes: 16 << 10}
	go func() { _ = server.Serve(http.LimitListener(l, maxLookers)) }()
	before := n.stop
	n.stop = func() {
		_ = server.Close()
		before()
	}
}
