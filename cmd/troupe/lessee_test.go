package main

import (
	"context"
	"fmt"
	"os"

	"troupe/client"
	"troupe/messages"
)

const (
	lesseeVar = "TROUPE_TEST_LESSEE"
	markVar   = "TROUPE_TEST_MARK"
	leased    = messages.ScopePath("mcp/agent-1")

	// deep is a tree that does not end by itself: one process ignores TERM, one has left
	// the session, and one has lost its parent.
	deep = `(trap '' TERM; sleep 601 & wait) & (setsid sleep 602 &) ; sh -c 'sh -c "sleep 603 & wait" & wait' & wait`
)

// lessee is a client of a scope of its own, as an agent is one: it has three trees there,
// one of them in the foreground, and tells their ids. It does not end by itself.
func lessee() {
	ctx := context.Background()
	fail := func(err error) {
		if err != nil {
			fmt.Println("failed:", err)
			os.Exit(1)
		}
	}
	c, err := client.Dial(ctx, os.Getenv(lesseeVar))
	fail(err)
	_, err = c.Lease(ctx, messages.OpenScope{Path: leased, Quota: messages.ScopeQuota{Jobs: 3}})
	fail(err)
	r := messages.RunCommand{Scope: leased, Program: messages.Program{Text: deep}, Env: messages.Env{Set: []string{markVar + "=" + os.Getenv(markVar)}}, Mode: messages.ModeAsync, Grace: -1}
	for _, session := range []messages.SessionID{"default", "other"} {
		r.Session = session
		job, err := c.Run(ctx, r)
		fail(err)
		fmt.Println(job.Job.ID)
	}
	r.Mode = messages.ModeSync
	_, err = c.Run(ctx, r, client.WithID(func(id messages.JobID) { fmt.Println(id) }))
	fail(err)
}
