package run

import (
	"context"
	"errors"
	"sync"
	"time"

	"troupe/client"
	"troupe/host"
	"troupe/internal/api"
	"troupe/internal/cli/connect"
	"troupe/messages"
	"troupe/spill/view"
)

// daemonPlace runs the command in the daemon. The daemon stops a foreground run when our
// request breaks off. If the daemon ends first, all requests come back to the next one.
type daemonPlace struct {
	client *client.Client
	text   bool // whether the reply includes the end of the output

	mu    sync.Mutex
	shown *api.Shown // text of the reply; nil: none
}

// newRemote returns the daemon as the host of the command. person: a user reads our notes, for
// which a request may wait on a connection of its own.
func newRemote(c *client.Client, text, person bool) *jobHost {
	h := newJobHost(c.Host(), &daemonPlace{client: c, text: text})
	h.daemon, h.waits, h.counts = c, person, messages.View{Kind: messages.ViewTailLine, Lines: 1, Bytes: 1}
	return h
}

func (d *daemonPlace) submit(ctx context.Context, r messages.RunCommand, known func()) func() (messages.Record, error) {
	with := []client.Option{client.WithID(func(messages.JobID) { known() })}
	if d.text {
		with = append(with, client.WithText(view.DefaultBytes))
	}
	return func() (messages.Record, error) {
		result, err := connect.RetryBusy(ctx, connect.IsBusy, func() (api.Result, error) { return d.client.Run(ctx, r, with...) })
		d.mu.Lock()
		d.shown = result.Text
		d.mu.Unlock()
		var coded *messages.Error
		switch {
		case err == nil || errors.As(err, &coded):
		case ctx.Err() != nil:
			err = givenUp
		default:
			err = connect.BrokenOff(err)
		}
		return result.Job, err
	}
}

// givenUp is the error of a run that was stopped before the daemon confirmed it.
var givenUp = &messages.Error{Code: messages.Internal, Reason: "interrupted"}

func (d *daemonPlace) follow(ctx context.Context, h *jobHost, stream messages.Stream, from, to int64) (host.Reader, error) {
	return &daemonReader{ctx: ctx, host: h, stream: stream, offset: from, to: to}, nil
}

// view returns the end of a single stream, or of both as the reply had it.
func (d *daemonPlace) view(ctx context.Context, job messages.Record) (view.View, error) {
	if len(job.Output) != 1 {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.shown == nil {
			return view.View{}, &messages.Error{Code: messages.OutputUnavailable, Message: "the daemon sent no text"}
		}
		return view.View{Text: d.shown.Text, Truncated: d.shown.Truncated}, nil
	}
	page, err := connect.RetryBusy(ctx, connect.IsBusy, func() (messages.OutputPage, error) {
		return host.Ask(ctx, d.client.Host(), messages.ReadOutput{
			Job: messages.JobID(job.UID), Stream: job.Output[0].Stream, View: messages.View{Kind: messages.ViewTail, Bytes: view.DefaultBytes},
		})
	})
	return view.View{Text: page.Text, Truncated: page.Truncated, Bytes: page.Bytes, Spans: []view.Span{{From: page.From, To: page.To}}}, err
}

func (d *daemonPlace) keep(_ messages.Record, out messages.StreamOutput) (string, error) {
	return out.File, nil
}

func (d *daemonPlace) pacer(h *jobHost) (asker, time.Duration) {
	return &daemonPauser{jobHost: h}, slowAfter
}

func (d *daemonPlace) shutdown(context.Context, messages.ShutdownNode) error { return d.client.Close() }
