package keeper

import (
	"context"
	"fmt"

	"troupe/messages"
)

// openAndReplaceIdle opens the keeper of a directory. It replaces one of another build
// that has no job: no other process would, and an old build lacks newer functions. A
// keeper with jobs stays.
func openAndReplaceIdle(ctx context.Context, o ClientOptions) (*Client, error) {
	c, err := Open(ctx, o)
	if err != nil || len(o.Program) == 0 || c.Build() == c.options.Build || !c.isIdle() {
		return c, err
	}
	c.Close(false)
	awaitGone(o.Dir)
	return Open(ctx, o)
}

// awaitGone waits until a keeper that confirmed its end has released its directory: an
// older build would still accept a client.
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

// isIdle reports whether the keeper has no job, nor an end that was not received, nor a
// process that has left its job, which the end of the keeper would kill.
func (c *Client) isIdle() bool {
	c.mu.Lock()
	jobs := len(c.jobs)
	c.mu.Unlock()
	return jobs == 0 && len(Escaped(c.options.Dir)) == 0
}

// explained returns a clearer error for a start that a keeper of another build does not
// understand: the daemon has already checked the request.
func (c *Client) explained(f messages.ProcessFailed) messages.ProcessFailed {
	if build := c.Build(); build != c.options.Build && (f.Err.Code == messages.InvalidParams || f.Err.Code == messages.Unsupported) {
		f.Err.Code, f.Err.Reason = messages.Unsupported, "keeper"
		f.Err.Message = fmt.Sprintf("the keeper of the jobs, troupe %s, is of another build than the daemon and cannot start this: %s", build, f.Err.Message)
		f.Err.Hint = "restart the daemon when no job runs, or end it with its jobs by troupe shutdown --stop-jobs: the next one has a keeper of its own build"
	}
	return f
}

// Build returns the build of the keeper.
func (c *Client) Build() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.keeper.Build
}

// PID returns the process id of the main keeper; 0: there is none.
func (f *Fleet) PID() int {
	if f.main == nil {
		return 0
	}
	_, pid := f.main.Keeper()
	return pid
}

// Build returns the build of the main keeper; "": there is none.
func (f *Fleet) Build() string {
	if f.main == nil {
		return ""
	}
	return f.main.Build()
}
