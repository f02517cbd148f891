package keeper

import (
	"context"
	"fmt"

	"troupe/messages"
)

// openRenewed opens the keeper of a directory. One of another build that has no job is
// ended, and its successor is of ours: nobody else would ever replace it, and it cannot
// do what is newer than it is. One that has jobs stays with them.
func openRenewed(ctx context.Context, o ClientOptions) (*Client, error) {
	c, err := Open(ctx, o)
	if err != nil || len(o.Program) == 0 || !c.isIdleOtherBuild() {
		return c, err
	}
	c.Close(false)
	awaitGone(o.Dir)
	return Open(ctx, o)
}

// awaitGone waits until a keeper that has said that it ends has let go of its directory:
// one of an older build would still let a client in.
func awaitGone(path string) {
	dir, err := openDir(path, false)
	if err != nil {
		return
	}
	defer dir.Close()
	if lease, err := takeLease(dir, leaseBound); err == nil {
		_ = lease.Close()
	}
}

// isIdleOtherBuild reports whether the keeper is of another build, and has no job, nor the
// end of one that was not heard.
func (c *Client) isIdleOtherBuild() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.keeper.Build != c.options.Build && len(c.jobs) == 0
}

// explained has a start that a keeper of another build does not understand say so: what
// is wrong with it was looked at before it came here.
func (c *Client) explained(f messages.ProcessFailed) messages.ProcessFailed {
	if build := c.Build(); build != c.options.Build && (f.Err.Code == messages.InvalidParams || f.Err.Code == messages.Unsupported) {
		f.Err.Code, f.Err.Reason = messages.Unsupported, "keeper"
		f.Err.Message = fmt.Sprintf("the keeper of the jobs, troupe %s, is of another build than the daemon and cannot start this: %s", build, f.Err.Message)
		f.Err.Hint = "restart the daemon when no job runs, or end it with its jobs by troupe shutdown --stop-jobs: the next one has a keeper of its own build"
	}
	return f
}

// Build is that of the keeper, as its jobs find it.
func (c *Client) Build() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.keeper.Build
}

// Build is that of the keeper of all jobs but the detached; "": there is none.
func (f *Fleet) Build() string {
	if f.main == nil {
		return ""
	}
	return f.main.Build()
}
