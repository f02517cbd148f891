package api

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/messages"
)

// A parameter that is absent leaves the value that the route gives its field.
func TestAbsentParametersKeepTheRoutesValues(t *testing.T) {
	given := messages.ListJobs{Scope: "a", Finished: true, States: []messages.State{messages.Running}}
	end := EndLease{Grace: -1, Reason: "r"}
	routes := prepared([]Route{{Method: "GET", Path: "/jobs", Request: given}, {Method: "DELETE", Path: "/leases", Request: end}})
	for _, c := range []struct {
		route Route
		query string
		want  any
	}{
		{routes[0], "", given},
		{routes[0], "scope=b", messages.ListJobs{Scope: "b", Finished: true, States: given.States}},
		{routes[0], "finished=false&scope=", messages.ListJobs{States: given.States}},
		{routes[1], "", end},
		{routes[1], "grace_ms=1&reason=", EndLease{Grace: 1e6}},
	} {
		q, refused := c.route.Query(c.query)
		require.Nil(t, refused)
		got, err := c.route.Read(&http.Request{}, q, nil)
		require.NoError(t, err)
		require.Equal(t, c.want, got, c.query)
	}
}
