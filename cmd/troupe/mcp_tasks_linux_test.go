package main

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/gateway/mcp"
)

// until asks for a task until it is in a state.
func (w *scribe) until(id, state string) params {
	w.t.Helper()
	var s said
	settles(w.t, "tasks that are not "+state, 0, func() int {
		s = w.ask("tasks/get", params{"taskId": id})
		require.Nil(w.t, s.Error)
		return map[bool]int{false: 1}[s.Result["status"] == state]
	})
	return s.Result
}

// A long run becomes a task for a client that supports tasks: its result is that of the
// run, and its end is reported only there.
func TestMCPTask(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	w := d.scribe().taking()
	open := gate(t, d.file("gate"))
	made := w.call("run", params{"command": "echo begun; read x < gate; echo done; exit 4"})
	require.Nil(t, made.Error)
	require.Equal(t, "task", made.Result["resultType"])
	id := made.Result["taskId"].(string)
	require.Equal(t, "working", w.until(id, "working")["status"])
	open()
	result := w.until(id, "completed")["result"].(params)
	require.NotEqual(t, true, result["isError"])
	structure := result["_meta"].(params)[mcp.DetailsKey].(params)
	require.Equal(t, "begun\ndone\n", result["content"].([]any)[0].(params)["text"].(string)[:int(structure["shown"].(float64))])
	require.InDelta(t, 4, structure["exit_code"], 0)
	quick := w.call("run", params{"command": "echo quick"}).Result
	require.NotEqual(t, "task", quick["resultType"])
	require.NotContains(t, quick["_meta"].(params)[mcp.DetailsKey], "notifications")
}

// A task that is cancelled ends its tree, and so does the leaving of its client.
func TestMCPTaskIsCancelled(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	for name, ends := range map[string]func(w *scribe, id string){
		"cancelled": func(w *scribe, id string) {
			require.Nil(t, w.ask("tasks/cancel", params{"taskId": id}).Error)
			w.until(id, "cancelled")
		},
		"left": func(w *scribe, _ string) { require.NoError(t, w.in.Close()) },
	} {
		w, file := d.scribe().taking(), d.file("pids-"+name)
		begun := post(t, file+"-begun")
		made := w.call("run", params{"command": stubborn(file), "grace_seconds": 0.2})
		require.Equal(t, "task", made.Result["resultType"], fmt.Sprint(made))
		begun()
		ends(w, made.Result["taskId"].(string))
		leaveNothing(t, d.pidsIn(file))
	}
}

// A task whose command waits for input asks for it, and goes on with what is answered.
func TestMCPTaskAsksForInput(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	w := d.scribe().taking()
	made := w.call("run", params{"command": "sleep 1.2; read -r x; read -r y; echo \"got $x, $y\"", "interactive": true})
	require.Equal(t, "task", made.Result["resultType"], fmt.Sprint(made))
	id := made.Result["taskId"].(string)
	asked := map[string]bool{}
	for _, answer := range []string{"one", "two"} {
		var key string
		settles(t, "questions that have not come", 0, func() int {
			for key = range w.until(id, "input_required")["inputRequests"].(params) {
				if !asked[key] {
					return 0
				}
			}
			return 1
		})
		asked[key] = true
		r := w.ask("tasks/update", params{"taskId": id, "inputResponses": params{key: params{"action": "accept", "content": params{"input": answer}}}})
		require.Nil(t, r.Error)
	}
	result := w.until(id, "completed")["result"].(params)
	require.Contains(t, result["content"].([]any)[0].(params)["text"], "got one, two\n")
}
