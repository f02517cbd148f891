package api

import (
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"

	"troupe/messages"
)

// Route is one request of the API.
type Route struct {
	Method, Path string
	ID, About    string  // operationId and description in openapi.yaml
	Request      any     // what a request is read into, with the values of absent fields; nil: only Params
	Reply        any     // a value of the reply's type, or a media type
	Statuses     []int   // of successful replies
	Lasts        bool    // may stay open for long
	Repeats      bool    // can be sent again to the next daemon: it reads, or its repeat changes nothing
	Params       []Param // parameters that are not fields of Request

	paths, queries []field  // of Request
	known          []string // parameters in the query
}

// Param is a parameter of a request.
type Param struct{ In, Name, Type, About string }

// HasBody reports whether the request has a body: JSON, "{}" if the path says all.
func (r Route) HasBody() bool { return r.Method == http.MethodPost }

// Media returns the media type of a reply that is not JSON, or "".
func (r Route) Media() string {
	media, _ := r.Reply.(string)
	return media
}

// Of returns the route of a request. A request with two has that for a job if it names one.
func Of(request any) (of Route, found bool) {
	for _, r := range Routes() {
		if r.Request == nil || r.Media() != "" || reflect.TypeOf(r.Request) != reflect.TypeOf(request) {
			continue
		}
		if of, found = r, true; r.named(request) {
			return r, true
		}
	}
	return of, found
}

// Named returns the route with an operationId of the table.
func Named(id string) Route {
	routes := Routes()
	i := slices.IndexFunc(routes, func(r Route) bool { return r.ID == id })
	return routes[i]
}

// named reports whether a request has a value for each parameter in the path.
func (r Route) named(request any) bool {
	for _, f := range r.paths {
		if r.inPath(f.name) && reflect.ValueOf(request).FieldByIndex(f.Index).IsZero() {
			return false
		}
	}
	return true
}

func (r Route) inPath(name string) bool {
	return strings.Contains(r.Path, "{"+name+"}") || strings.Contains(r.Path, "{"+name+"...}")
}

// Routes returns the whole API.
func Routes() []Route { return routes() }

var routes = sync.OnceValue(func() []Route { return prepared(table) })

var table = []Route{
	{
		Method: "POST", Path: "/v1/jobs", ID: "run", Request: messages.RunCommand{}, Reply: Result{}, Statuses: []int{http.StatusOK, http.StatusAccepted}, Lasts: true, Repeats: true,
		About: "Run a command. Answered when it has finished (200), or when it was promoted or has started in the background (202). If the connection ends first, the job is stopped, unless it goes on in the background.",
		Params: []Param{
			{"query", "text", "integer", "add to the reply the end of the output, at most so many bytes of it (to 1048576)"},
			{"header", KeyHeader, "string", "the same key and request again gets the same job; 1 to 256 bytes, once"},
			{"header", "Prefer", "string", "processing: tell the job's Location in a 102 reply while it runs"},
		},
	},
	{
		Method: "GET", Path: "/v1/jobs", ID: "list", Request: messages.ListJobs{}, Reply: messages.JobList{}, Statuses: ok,
		About: "List jobs, oldest first, and the tasks of hosts.",
	},
	{
		Method: "GET", Path: "/v1/jobs/{id}", ID: "show", Request: messages.FindJob{}, Reply: messages.JobFound{}, Statuses: ok, Repeats: true,
		About: "The record of a job, by its id, its ULID or its name.",
	},
	{
		Method: "DELETE", Path: "/v1/jobs/{id}", ID: "remove", Request: messages.RemoveJob{}, Reply: messages.JobFound{}, Statuses: ok,
		About: "Forget a finished job and its output.",
	},
	{
		Method: "GET", Path: "/v1/jobs/{id}/output", ID: "output", Reply: "application/octet-stream", Statuses: ok, Lasts: true, Params: outputParams,
		About: "The raw bytes of one stream. With follow the reply lasts until no process can write any more. Ranges that were not kept are left out and listed in the trailers.",
	},
	{
		Method: "GET", Path: "/v1/jobs/{id}/text", ID: "read", Request: messages.ReadOutput{}, Reply: messages.OutputPage{}, Statuses: ok, Repeats: true, Params: viewParams,
		About: "One bounded view of one stream, as text: a page of lines (line, limit), the first lines (head), the last ones (tail), both (head and tail, equal), else the end of the output. Of both streams there is the end alone, in the order of their arrival; it has no place in either: from is 0, to their size, and there are no gaps but as lines of the text.",
	},
	{
		Method: "GET", Path: "/v1/jobs/{id}/screen", ID: "screen", Request: messages.ReadScreen{}, Reply: messages.ScreenText{}, Statuses: ok,
		About: "What the job's terminal shows, a line for each row without the blanks at its end. The cursor counts from 0; keys are the modes that decide which bytes a key sends; modes is the text that puts another terminal into the same modes: which screen is shown, what keys and the mouse send, how the cursor looks; at is the byte of the output that it was drawn to, of bytes that there were. A job without a terminal is unsupported.",
	},
	{
		Method: "POST", Path: "/v1/jobs/{id}/stop", ID: "stop", Request: messages.StopCommand{}, Reply: messages.CommandStopped{}, Statuses: ok, Repeats: true,
		About: "End a job's tree: TERM, and KILL after the grace. Answered when nothing of it is left but the survivors. Idempotent. scope and session are for /v1/stop.",
	},
	{
		Method: "POST", Path: "/v1/jobs/{id}/signal", ID: "signal", Request: messages.SignalCommand{}, Reply: messages.Acknowledged{}, Statuses: ok,
		About: "Send a signal to the main process, or to the whole tree.",
	},
	{
		Method: "POST", Path: "/v1/jobs/{id}/promote", ID: "promote", Request: messages.PromoteCommand{Keep: true}, Reply: messages.CommandPromoted{}, Statuses: ok, Repeats: true,
		About: "Move a foreground job to the background and answer its client. Unless keep is false, the job, also one in the background already, gets the flag kept: it stays when the client of its scope leaves.",
	},
	{
		Method: "POST", Path: "/v1/jobs/{id}/deadline", ID: "deadline", Request: messages.ChangeDeadline{}, Reply: messages.Acknowledged{}, Statuses: ok,
		About: "Change the deadline: none, extend_ms more than now set, or after_ms from now.",
	},
	{
		Method: "POST", Path: "/v1/jobs/{id}/input", ID: "input", Request: messages.WriteInput{}, Reply: messages.InputWritten{}, Statuses: ok,
		About: "Write to the standard input. Answered when the kernel has it.",
	},
	{
		Method: "POST", Path: "/v1/jobs/{id}/close-input", ID: "closeInput", Request: messages.CloseInput{}, Reply: messages.Acknowledged{}, Statuses: ok, Repeats: true,
		About: "End the standard input.",
	},
	{
		Method: "POST", Path: "/v1/jobs/{id}/hold", ID: "hold", Request: messages.PauseOutput{}, Reply: "text/plain", Statuses: ok, Lasts: true,
		About: "Pause the output of a job while this request is open, for a slow reader that wants all of it. The job blocks on its own full pipe, as if it wrote to its reader itself. It is paused when the head of the reply arrives. The reply has no body and ends with the job or the request.",
	},
	{
		Method: "POST", Path: "/v1/jobs/{id}/resize", ID: "resize", Request: messages.ResizeTerminal{}, Reply: messages.Acknowledged{}, Statuses: ok,
		About: "Change the size of the terminal.",
	},
	{
		Method: "POST", Path: "/v1/jobs/{id}/handover", ID: "handOver", Request: messages.HandOver{}, Reply: messages.Acknowledged{}, Statuses: ok,
		About: "Move a live job to the default session of another scope.",
	},
	{
		Method: "GET", Path: "/v1/jobs/{id}/attach", ID: "attach", Reply: "websocket", Statuses: []int{http.StatusSwitchingProtocols}, Lasts: true, Params: attachParams,
		About: "A WebSocket at the job: output from an offset as binary messages, input by the client that holds the lease. Its text messages are AttachEvent and AttachRequest.",
	},
	{
		Method: "POST", Path: "/v1/remove", ID: "removeAll", Request: Remove{}, Reply: Removed{}, Statuses: ok,
		About: "Remove finished jobs and their output, at most 1000. A job that cannot be removed is refused with its own error; the others are removed.",
	},
	{
		Method: "POST", Path: "/v1/stop", ID: "stopScope", Request: messages.StopCommand{}, Reply: messages.CommandStopped{}, Statuses: ok, Repeats: true,
		About: "End all jobs of a scope and its sub-scopes, or of one of its sessions.",
	},
	{
		Method: "POST", Path: "/v1/wait", ID: "wait", Request: messages.WaitJobs{}, Reply: messages.WaitEnded{}, Statuses: ok, Lasts: true,
		About: "Wait until any or all of some jobs meet a condition.",
	},
	{
		Method: "POST", Path: "/v1/tasks", ID: "announceTask", Request: messages.AnnounceTask{}, Reply: messages.Acknowledged{}, Statuses: ok, Repeats: true,
		About: "Announce a task: work of a host, such as a sub-agent, which the list of jobs shows beside them. A repeat changes what it names of a live task, and begins an ended one anew.",
	},
	{
		Method: "POST", Path: "/v1/tasks/{id}", ID: "updateTask", Request: messages.UpdateTask{}, Reply: messages.Acknowledged{}, Statuses: ok, Repeats: true,
		About: "Change an announced task, or end it. Absent fields stay as they are.",
	},
	{
		Method: "GET", Path: "/v1/sessions", ID: "sessions", Request: messages.ListSessions{}, Reply: messages.SessionList{}, Statuses: ok,
		About: "List the sessions of a scope and its sub-scopes, and, if asked, the last hundred that have ended.",
	},
	{
		Method: "POST", Path: "/v1/sessions", ID: "openSession", Request: messages.OpenSession{}, Reply: messages.SessionOpened{}, Statuses: ok,
		About: "Open a session, or find it open.",
	},
	{
		Method: "DELETE", Path: "/v1/sessions/{session}", ID: "closeSession", Request: messages.CloseSession{}, Reply: messages.SessionClosed{}, Statuses: ok,
		About: "End a session and its jobs.",
	},
	{
		Method: "GET", Path: "/v1/scopes", ID: "scopes", Request: messages.ListScopes{}, Reply: messages.ScopeList{}, Statuses: ok,
		About: "List the scopes at and below a path, parents first.",
	},
	{
		Method: "POST", Path: "/v1/scopes", ID: "openScope", Request: messages.OpenScope{}, Reply: messages.ScopeOpened{}, Statuses: ok,
		About: "Open a scope and its parents.",
	},
	{
		Method: "DELETE", Path: "/v1/scopes/{path...}", ID: "closeScope", Request: messages.CloseScope{}, Reply: messages.ScopeClosed{}, Statuses: ok,
		About: "End a scope with all that is in it.",
	},
	{
		Method: "POST", Path: "/v1/leases", ID: "lease", Request: messages.OpenScope{}, Reply: "text/plain", Statuses: ok, Lasts: true,
		About: "Open a scope and hold it for as long as this request is open: when it ends, for whatever reason but the end of the daemon, the scope ends with all that is in it. Only jobs that are detached or have the flag kept go on, with their sessions. Several may lease a scope: it ends with the last of them. One that is open stays as it is, with its own quota; one that is being left is waited for. The head of the reply says that it is held, and its Location names the lease; the reply has no body. main cannot be leased.",
	},
	{
		Method: "DELETE", Path: "/v1/leases/{id}", ID: "endLease", Request: EndLease{}, Reply: messages.ScopeReleased{}, Statuses: ok,
		About: "End a lease. Answered when nothing is left of its scope but what is kept and the survivors; at once, if others lease it, too.",
	},
	{
		Method: "POST", Path: "/v1/leave", ID: "leave", Request: messages.ReleaseScope{}, Reply: messages.ScopeReleased{}, Statuses: ok,
		About: "End a scope as the end of its last lease does: jobs that are detached or have the flag kept go on, with their sessions. Answered when nothing else is left but the survivors. main cannot be left.",
	},
	{
		Method: "GET", Path: "/v1/events", ID: "events", Reply: "text/event-stream", Statuses: ok, Lasts: true, Params: eventParams,
		About: "Facts as they are recorded, as server-sent events: id is the number of the fact, event its kind, data an Event. Last-Event-ID resumes after a number; after one that was never given, or by another journal than Troupe-Journal names, facts_dropped with a from above seq comes first, and then all facts. A comment comes every 15 s on which nothing happens.",
	},
	{Method: "GET", Path: "/v1/stats", ID: "stats", Reply: Stats{}, Statuses: ok, About: "How much of everything there is."},
	{Method: "GET", Path: "/v1/health", ID: "health", Reply: Health{}, Statuses: ok, About: "Whether the node takes requests."},
	{Method: "GET", Path: "/v1/version", ID: "version", Reply: About{}, Statuses: ok, About: "Which daemon this is."},
	{Method: "GET", Path: "/v1/openapi.yaml", ID: "openapi", Reply: YAML, Statuses: ok, About: "This document."},
	{
		Method: "POST", Path: "/v1/shutdown", ID: "shutdown", Request: messages.ShutdownNode{}, Reply: messages.ShutdownDone{}, Statuses: ok,
		About: "End the daemon. Its jobs live on where they can, unless stop_jobs says otherwise.",
	},
}

// prepared returns the routes with what is read of their requests' tags once.
func prepared(all []Route) []Route {
	for i := range all {
		r := &all[i]
		if r.Request != nil {
			r.paths, r.queries = fieldsOf(reflect.TypeOf(r.Request), "path"), fieldsOf(reflect.TypeOf(r.Request), "query")
		}
		for _, p := range r.Parameters() {
			if p.In == "query" {
				r.known = append(r.known, p.Name)
			}
		}
	}
	return all
}

// YAML is the media type of YAML (RFC 9512).
const YAML = "application/yaml"

var ok = []int{http.StatusOK}
