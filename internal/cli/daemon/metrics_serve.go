package daemon

import (
	"net"
	stdhttp "net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"troupe/internal/gateway/http"
)

// Limits for clients of the metrics.
const (
	metricsPatience = 10 * time.Second // for one scrape
	maxScrapers     = 16               // connections
)

// serve serves the metrics on a loopback address until close, over at most so many
// connections.
func (n *metrics) serve(l net.Listener, token http.Token, most int) {
	mux := stdhttp.NewServeMux()
	mux.Handle("GET /metrics", http.RequireToken(token, promhttp.HandlerFor(n.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4})))
	server := &stdhttp.Server{Handler: mux, ReadTimeout: metricsPatience, WriteTimeout: metricsPatience, IdleTimeout: metricsPatience, MaxHeaderBytes: 16 << 10}
	go func() { _ = server.Serve(http.LimitConnections(server, l, most)) }()
	before := n.stop
	n.stop = func() {
		_ = server.Close()
		before()
	}
}
