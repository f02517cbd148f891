package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"golang.org/x/sys/unix"

	"troupe/messages"
)

// A signal that comes while the object is made ends the counting, and the wait
// for what does not heed it: once more ends that at once.
func TestASignalIsHeardWhileTheObjectIsMade(t *testing.T) {
	t.Parallel()
	told, err := os.Create(filepath.Join(t.TempDir(), "told"))
	if err != nil {
		t.Fatal(err)
	}
	defer told.Close()
	job := messages.Job{UID: "J", Outcome: messages.Exited}
	heeds := func(ctx context.Context, job messages.Job) *resultObject {
		<-ctx.Done()
		return &resultObject{job: job, more: resultText{Text: "seen"}}
	}
	for name, at := range map[string]struct {
		result  func(context.Context, messages.Job) *resultObject
		signals int
		text    string
	}{
		"it heeds it":            {heeds, 1, "seen"},
		"it hangs":               {nil, 1, ""},
		"it hangs, and a second": {nil, 2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := &foreground{
					screen:  (&Main{Out: told, Err: told}).newScreen(),
					signals: &signals{heard: make(chan os.Signal, signalBacklog)},
				}
				over := make(chan struct{})
				if at.result == nil {
					at.result = func(context.Context, messages.Job) *resultObject {
						<-over
						return nil
					}
				}
				for range at.signals {
					g.signals.heard <- unix.SIGINT
				}
				object := g.object(job, at.result)
				if object.job.UID != job.UID || object.more.Text != at.text {
					t.Errorf("the object is %+v", object)
				}
				if got := g.status(job); got != 130 {
					t.Errorf("exit status %d", got)
				}
				close(over)
			})
		})
	}
}
