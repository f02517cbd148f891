package http

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"troupe/internal/gateway/http/wire"
	"troupe/messages"
)

// route is one line of the API. A test compares the routes with openapi.yaml.
type route struct {
	method, path string
	query        []string // accepted parameters
	body         any      // zero value of the body; nil: no body
	reply        any      // zero value of the reply, or a media type
	statuses     []int    // of successful replies
	handle       func(*request) error
}

// table returns the whole API.
func table() []route {
	ok, accepted := []int{http.StatusOK}, []int{http.StatusOK, http.StatusAccepted}
	nothing := wire.Empty{}
	return []route{
		{"POST", "/v1/jobs", []string{"text"}, messages.RunCommand{}, wire.Result{}, accepted, lasting((*request).run)},
		{"GET", "/v1/jobs", []string{"scope", "finished", "state"}, nil, wire.JobList{}, ok, (*request).list},
		{"GET", "/v1/jobs/{id}", nil, nil, messages.Record{}, ok, (*request).show},
		{"DELETE", "/v1/jobs/{id}", nil, nil, messages.Record{}, ok, (*request).remove},
		{"GET", "/v1/jobs/{id}/output", []string{"stream", "offset", "limit", "follow", "since", "offset_stdout", "offset_stderr"}, nil, "application/octet-stream", ok, lasting((*request).output)},
		{"GET", "/v1/jobs/{id}/text", []string{"stream", "line", "limit", "head", "tail", "bytes", "since", "raw", "offset_stdout", "offset_stderr"}, nil, wire.Page{}, ok, (*request).read},
		{"GET", "/v1/jobs/{id}/screen", nil, nil, wire.Screen{}, ok, (*request).screen},
		{"POST", "/v1/jobs/{id}/stop", nil, wire.Stop{}, wire.Stopped{}, ok, (*request).stop},
		{"POST", "/v1/jobs/{id}/signal", nil, wire.Signal{}, wire.Acknowledged{}, ok, (*request).signal},
		{"POST", "/v1/jobs/{id}/promote", nil, wire.Promote{}, messages.Record{}, ok, (*request).promote},
		{"POST", "/v1/jobs/{id}/deadline", nil, wire.Deadline{}, wire.Acknowledged{}, ok, (*request).deadline},
		{"POST", "/v1/jobs/{id}/input", nil, wire.Input{}, wire.Written{}, ok, (*request).input},
		{"POST", "/v1/jobs/{id}/close-input", nil, nothing, wire.Acknowledged{}, ok, (*request).closeInput},
		{"POST", "/v1/jobs/{id}/hold", nil, nothing, "text/plain", ok, lasting((*request).pauseOutput)},
		{"POST", "/v1/jobs/{id}/resize", nil, messages.Terminal{}, wire.Acknowledged{}, ok, (*request).resize},
		{"POST", "/v1/jobs/{id}/handover", nil, wire.HandOver{}, wire.Acknowledged{}, ok, (*request).handOver},
		{"GET", "/v1/jobs/{id}/attach", []string{"stream", "offset", "lease", "terminal"}, nil, "websocket", []int{http.StatusSwitchingProtocols}, lasting((*request).attach)},
		{"POST", "/v1/remove", nil, wire.Remove{}, wire.Removed{}, ok, (*request).removeAll},
		{"POST", "/v1/stop", nil, wire.Stop{}, wire.Stopped{}, ok, (*request).stopScope},
		{"POST", "/v1/wait", nil, wire.Await{}, wire.WaitResult{}, ok, lasting((*request).wait)},
		{"GET", "/v1/sessions", []string{"scope", "recent"}, nil, wire.SessionList{}, ok, (*request).sessions},
		{"POST", "/v1/sessions", nil, messages.OpenSession{}, wire.SessionReply{}, ok, (*request).openSession},
		{"DELETE", "/v1/sessions/{session}", []string{"scope", "grace_ms", "reason"}, nil, wire.Closed{}, ok, (*request).closeSession},
		{"GET", "/v1/scopes", []string{"path"}, nil, wire.ScopeList{}, ok, (*request).scopes},
		{"POST", "/v1/scopes", nil, wire.OpenScope{}, wire.ScopeReply{}, ok, (*request).openScope},
		{"DELETE", "/v1/scopes/{path...}", []string{"grace_ms", "reason"}, nil, wire.Closed{}, ok, (*request).closeScope},
		{"POST", "/v1/leases", nil, wire.Lease{}, "text/plain", ok, lasting((*request).lease)},
		{"DELETE", "/v1/leases/{id}", []string{"grace_ms", "reason"}, nil, wire.ScopeReleased{}, ok, (*request).endLease},
		{"POST", "/v1/leave", nil, wire.Leave{}, wire.ScopeReleased{}, ok, (*request).releaseScope},
		{"GET", "/v1/events", []string{"after", "now", "past", "scope", "job", "ends"}, nil, "text/event-stream", ok, lasting((*request).events)},
		{"GET", "/v1/stats", nil, nil, wire.Stats{}, ok, (*request).stats},
		{"GET", "/v1/health", nil, nil, wire.Health{}, ok, (*request).health},
		{"GET", "/v1/version", nil, nil, wire.About{}, ok, (*request).version},
		{"GET", "/v1/openapi.yaml", nil, nil, yamlType, ok, (*request).openapi},
		{"POST", "/v1/shutdown", nil, wire.ShutDown{}, wire.ShutdownResult{}, ok, (*request).shutdown},
	}
}

// handle answers a request. Without a body in the route it discards the request's.
func (c *request) handle(r route) error {
	if r.body == nil {
		if err := c.discardBody(); err != nil {
			return err
		}
	}
	return r.handle(c)
}

// lasting wraps a handler that may stay open for long: it takes a slot and ends with
// the client.
func lasting(handle func(*request) error) func(*request) error {
	return func(c *request) error {
		leave, err := c.door().gate.holdSlot()
		if err != nil {
			return err
		}
		defer leave()
		all := c.ctx
		there, end := c.door().whileConnected(all)
		defer end()
		c.ctx = there
		fault := handle(c)
		if there.Err() == nil {
			c.ctx = all // the client is still connected
		}
		return fault
	}
}

// routes returns the handler of the table.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	methods := map[string][]string{}
	for _, r := range table() {
		methods[r.path] = append(methods[r.path], r.method)
	}
	for _, r := range table() {
		mux.Handle(r.method+" "+r.path, s.serve(r, methods[r.path]))
	}
	for path, allowed := range methods {
		slices.Sort(allowed)
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) { s.wrongMethod(w, allowed) })
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { fail(w, noRoute()) })
	return mux
}

func (s *Server) wrongMethod(w http.ResponseWriter, allowed []string) {
	list := strings.Join(allowed, ", ")
	w.Header().Set("Allow", list)
	fail(w, &messages.Error{Code: messages.Unsupported, Reason: "method", Message: "method not allowed on this path", Hint: "use " + list})
}

// serve checks a request against its route and answers it. allowed are all methods of
// the path.
func (s *Server) serve(route route, allowed []string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != route.method { // HEAD, which the mux routes like GET
			s.wrongMethod(w, allowed)
			return
		}
		c := &request{Server: s, w: w, r: r, ctx: r.Context()}
		err := c.checkQuery(route.query)
		if err == nil && route.body != nil {
			err = c.checkType()
		}
		if err == nil {
			err = c.confine()
		}
		if err != nil {
			fail(w, err)
			return
		}
		if err := c.handle(route); err != nil && !errors.Is(err, errAnswered) {
			if c.ctx.Err() != nil {
				panic(http.ErrAbortHandler) // the client has disconnected
			}
			fail(w, s.coded(err))
		}
	})
}
