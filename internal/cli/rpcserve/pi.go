package rpcserve

import (
	"context"
	"errors"
	"io"
	"time"

	"troupe/host"
	"troupe/internal/cli/dialectconfig"
	"troupe/internal/dialect"
	dialectomp "troupe/internal/dialect/omp"
	gateway "troupe/internal/gateway/pi"
	"troupe/internal/shelltext"
	"troupe/messages"
)

// hurry is the time from TERM to KILL for the commands of a client that does not wait: pi's
// client kills its server a second after TERM.
const hurry = 300 * time.Millisecond

// pi speaks the protocol of pi. The client is the user: its commands run in a session of omp,
// without the rules that are for a model.
func pi(ctx context.Context, c *client, in io.Reader, out io.Writer) error {
	made, err := dialectconfig.NewOMP(c.at, c.noDaemon, c.files, c.log)
	if err != nil {
		return err
	}
	session := made.Open(dialectomp.Options{
		Host: c.host, Beside: &c.work, Scope: c.scope, Dir: c.dir, Home: shelltext.Value(c.env, "HOME"), Env: c.env, SessionID: c.name,
	})
	left := make(chan struct{})
	stays := context.AfterFunc(ctx, func() {
		defer close(left)
		c.leaveInAHurry()
	})
	err = gateway.Serve(ctx, in, out, session)
	if !stays() {
		<-left
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), dialect.LeavePatience)
	defer cancel()
	return errors.Join(err, session.Close(closing))
}

// leaveInAHurry stops the jobs of the client, except those that outlive it.
func (c *client) leaveInAHurry() {
	ctx, cancel := context.WithTimeout(context.Background(), dialect.LeavePatience)
	defer cancel()
	_, err := host.Ask(ctx, c.host, messages.ReleaseScope{Path: c.scope, Grace: hurry, Reason: "its client has left"})
	if err != nil {
		c.log.Warn("cannot end the scope of a client", "scope", c.scope, "error", err)
	}
}
