package http

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"troupe/internal/api"
	"troupe/messages"
)

// own are the handlers of requests that the gateway does not just pass on, by their ids.
var own = map[string]func(*request) error{
	"run": (*request).run, "list": (*request).list, "show": (*request).show, "output": (*request).output, "read": (*request).readView, "screen": (*request).screen,
	"stop": (*request).stop, "stopScope": (*request).stopScope, "resize": (*request).resize, "hold": (*request).pauseOutput, "attach": (*request).attach,
	"removeAll": (*request).removeAll, "announceTask": (*request).announceTask, "openSession": (*request).openSession, "closeSession": (*request).closeSession, "openScope": (*request).openScope,
	"lease": (*request).lease, "endLease": (*request).endLease, "leave": (*request).releaseScope, "events": (*request).events,
	"stats": (*request).stats, "health": (*request).health, "version": (*request).version, "openapi": (*request).openapi, "shutdown": (*request).shutdown,
}

// handle answers a request. Without a body in the route it discards the request's.
func (c *request) handle() error {
	if !c.route.HasBody() {
		if err := c.discardBody(); err != nil {
			return err
		}
	}
	handle := own[c.route.ID]
	if handle == nil {
		handle = (*request).pass
	}
	if c.route.Lasts {
		handle = lasting(handle)
	}
	return handle(c)
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
	for _, r := range api.Routes() {
		methods[r.Path] = append(methods[r.Path], r.Method)
	}
	for _, r := range api.Routes() {
		mux.Handle(r.Method+" "+r.Path, s.serve(r, methods[r.Path]))
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
func (s *Server) serve(route api.Route, allowed []string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != route.Method { // HEAD, which the mux routes like GET
			s.wrongMethod(w, allowed)
			return
		}
		c := &request{Server: s, w: w, r: r, ctx: r.Context(), route: route}
		var err *messages.Error
		c.query, err = route.Query(r.URL.RawQuery)
		if err == nil && route.HasBody() {
			err = c.checkType()
		}
		if err == nil {
			err = c.confine()
		}
		if err != nil {
			fail(w, err)
			return
		}
		if err := c.handle(); err != nil && !errors.Is(err, errAnswered) {
			if c.ctx.Err() != nil {
				panic(http.ErrAbortHandler) // the client has disconnected
			}
			fail(w, s.coded(err))
		}
	})
}
