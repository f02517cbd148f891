package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"troupe/internal/dialect/core"
)

// watching holds the notifications that a client receives.
type watching struct{ listed, updated chan string }

func newWatching() *watching {
	return &watching{make(chan string, 64), make(chan string, 64)}
}

func (w *watching) client() *sdk.ClientOptions {
	return &sdk.ClientOptions{
		ResourceListChangedHandler: func(context.Context, *sdk.ResourceListChangedRequest) { w.listed <- "" },
		ResourceUpdatedHandler: func(_ context.Context, r *sdk.ResourceUpdatedNotificationRequest) {
			w.updated <- r.Params.URI
		},
	}
}

// comes waits for the next notification.
func comes(t *testing.T, from <-chan string) string {
	t.Helper()
	select {
	case it := <-from:
		return it
	case <-time.After(tooLong):
		t.Fatal("nothing came")
		return ""
	}
}

// resource reads one, and gives all of it.
func (a *agent) resource(uri string) *sdk.ResourceContents {
	a.t.Helper()
	r, err := a.ReadResource(a.t.Context(), &sdk.ReadResourceParams{URI: uri})
	require.NoError(a.t, err)
	require.Len(a.t, r.Contents, 1)
	return r.Contents[0]
}

// Records and outputs are resources: those of any job can be read, those of live jobs are
// listed, and a subscriber receives the end.
func TestMCPResources(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	for _, revision := range []string{withSessions, withRounds} {
		t.Run(revision, func(t *testing.T) {
			w := newWatching()
			a := d.agent(revision, w.client())
			templates, err := a.ListResourceTemplates(t.Context(), nil)
			require.NoError(t, err)
			var uris []string
			for _, it := range templates.ResourceTemplates {
				uris = append(uris, it.URITemplate)
			}
			require.ElementsMatch(t, []string{"job://{id}", "artifact://{id}/{stream}{?offset,limit}"}, uris)

			short := a.run(params{"command": "printf 0123456789; printf '\\377\\376' >&2", "streams": "separate"})
			require.Equal(t, "0123456789", a.resource("artifact://"+short.JobID+"/stdout").Text)
			require.Equal(t, "345", a.resource("artifact://"+short.JobID+"/stdout?offset=3&limit=3").Text)
			require.Equal(t, []byte{0xff, 0xfe}, a.resource("artifact://"+short.JobID+"/stderr").Blob)
			require.Empty(t, a.resource("artifact://"+short.JobID+"/stdout?offset=9999999999").Text)
			var record struct{ ID, State string }
			require.NoError(t, json.Unmarshal([]byte(a.resource("job://"+short.JobID).Text), &record))
			require.Equal(t, short.JobID, record.ID)
			require.Equal(t, "finished", record.State)

			fifo := d.file("gate" + revision)
			open := gate(t, fifo)
			long := a.run(params{"command": "echo begun; read x < " + fifo + "; exit 3", "wait_seconds": 0.2, "name": "long"})
			require.True(t, long.Running)
			comes(t, w.listed)
			listed, err := a.ListResources(t.Context(), nil)
			require.NoError(t, err)
			require.Len(t, listed.Resources, 2)
			for _, never := range []string{
				"job://long", "job://j9999", "log://" + long.JobID, "job:", "artifact://" + long.JobID, "artifact://" + long.JobID + "/stdout",
				"artifact://" + long.JobID + "/merged?offset=3", "job://" + long.JobID + "/", "job://" + long.JobID + "?a", "job://" + long.JobID + "#a",
			} {
				err := a.Subscribe(t.Context(), &sdk.SubscribeParams{URI: never}) // the newer revision has no answer to it
				require.Equal(t, revision == withSessions, err != nil, "nobody would be told of %s", never)
			}
			require.NoError(t, a.Subscribe(t.Context(), &sdk.SubscribeParams{URI: "job://" + long.JobID}))
			open()
			require.Equal(t, "job://"+long.JobID, comes(t, w.updated))
			settles(t, "records of a job that runs", 0, func() int {
				return strings.Count(a.resource("job://"+long.JobID).Text, `"state":"running"`)
			})

			require.NoError(t, a.Subscribe(t.Context(), &sdk.SubscribeParams{URI: "job://" + short.JobID}))
			for comes(t, w.updated) != "job://"+short.JobID { // it has ended before: the update is sent at once
			}

			big := a.run(params{"command": "seq 1 20000"})
			require.True(t, big.Truncated)
			require.Equal(t, big.Outputs[0].Artifact, "artifact://"+big.JobID+"/merged")
			require.Equal(t, numbered(20000), a.resource(big.Outputs[0].Artifact).Text)

			done, err := a.Complete(t.Context(), &sdk.CompleteParams{
				Ref: &sdk.CompleteReference{Type: "ref/resource", URI: "job://{id}"}, Argument: sdk.CompleteParamsArgument{Name: "id", Value: long.JobID},
			})
			require.NoError(t, err)
			require.Contains(t, done.Completion.Values, long.JobID)
			a.leaves()
		})
	}
}

// What is another client's is not there, under any name of it, and neither is what is no
// resource.
func TestSecurityMCPJobsOfAnotherClient(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	web := d.port()
	theirs := d.agent(withSessions, nil)
	job := theirs.run(params{"command": "echo hunter2; exec sleep 600", "background": true, "name": "theirs"})
	uid := d.record(job.JobID)["uid"].(string)
	for name, a := range map[string]*agent{
		"stdio": d.agent(withSessions, nil), "with sessions": web.agent("a", withSessions, nil), "without": web.agent("b", withRounds, nil),
	} {
		t.Run(name, func(t *testing.T) {
			for _, id := range []string{job.JobID, uid, "theirs", "../" + job.JobID, job.JobID + "/", "%2e%2e", "j999999", strings.Repeat("j", 100_000), "j\x00", "\u202e"} {
				for tool, more := range map[string]params{
					"read": nil, "screen": nil, "promote": nil, "write": {"text": "x\n"},
				} {
					args := params{"job_id": id}
					for k, v := range more {
						args[k] = v
					}
					require.Contains(t, a.refused(tool, args), "(not_found, job)", "%s %.100q", tool, id)
				}
				require.Contains(t, a.refused("stop", params{"job_ids": []string{id}}), "(not_found, job)")
				require.Contains(t, a.refused("wait", params{"job_ids": []string{id}, "timeout_seconds": 1}), "(not_found, job)")
				require.Contains(t, a.refused("stop", params{"job_ids": []string{id}, "signal": "KILL"}), "(not_found, job)")
			}
			for _, uri := range []string{
				"job://" + job.JobID, "job://" + uid, "job://theirs", "job://..%2f" + job.JobID, "job://../" + job.JobID, "job:///" + job.JobID, "job://x@" + job.JobID, "job://" + job.JobID + "/..",
				"artifact://" + job.JobID + "/merged", "artifact://../../etc/passwd", "artifact://" + job.JobID + "/..%2f..%2fetc%2fpasswd", "file:///etc/passwd", "job://", "artifact://", "%", "",
			} {
				_, err := a.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
				var refused *jsonrpc.Error
				require.ErrorAs(t, err, &refused, uri)
				require.NotContains(t, err.Error(), "hunter2")
				require.NotContains(t, err.Error(), "root:", uri)
			}
			require.Empty(t, mustCall[core.Jobs](a, "list", params{"all": true}).Jobs)
			require.Empty(t, mustCall[core.StopResult](a, "stop", params{"all": true}).Jobs)
			listed, err := a.ListResources(t.Context(), nil)
			require.NoError(t, err)
			require.Empty(t, listed.Resources)
		})
	}
	require.True(t, mustCall[core.RunResult](theirs, "read", params{"job_id": "theirs"}).Running)
}
