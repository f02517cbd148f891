package run

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"troupe/internal/cli"
	"troupe/internal/cli/terminal"
	"troupe/messages"
)

// The first signal during the making of the object ends the counting of lines. A
// hanging count ends after ReaderPatience, or at a second signal.
func TestASignalIsHeardWhileTheObjectIsMade(t *testing.T) {
	t.Parallel()
	told, err := os.Create(filepath.Join(t.TempDir(), "told"))
	if err != nil {
		t.Fatal(err)
	}
	defer told.Close()
	job := messages.Record{UID: "J", End: messages.End{Outcome: messages.Exited}, Output: []messages.StreamOutput{{Bytes: 9, File: "/goes/with/the/node"}}}
	heeds := func(ctx context.Context, job messages.Record) *resultObject {
		<-ctx.Done()
		return &resultObject{job: job, more: resultText{Text: "seen"}}
	}
	for name, at := range map[string]struct {
		result  func(context.Context, messages.Record) *resultObject
		signals int
		want    resultText
		took    time.Duration
	}{
		"it heeds it":            {heeds, 1, resultText{Text: "seen"}, 0},
		"it hangs":               {nil, 1, resultText{Truncated: true}, cli.ReaderPatience},
		"it hangs, and a second": {nil, 2, resultText{Truncated: true}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := &foreground{
					screen:  terminal.NewPrinter(&cli.Main{Out: told, Err: told}),
					signals: &cli.Signals{Incoming: make(chan os.Signal, cli.SignalBacklog)},
				}
				over := make(chan struct{})
				result := at.result
				if result == nil {
					result = func(context.Context, messages.Record) *resultObject {
						<-over
						return nil
					}
				}
				for range at.signals {
					g.signals.Incoming <- unix.SIGINT
				}
				begun := time.Now()
				object := g.object(job, result)
				if object.job.UID != job.UID || object.more != at.want {
					t.Errorf("the object is %+v", object)
				}
				if took := time.Since(begun); took != at.took {
					t.Errorf("it took %v, want %v", took, at.took)
				}
				if at.result == nil && object.job.Output[0].File != "" {
					t.Error("it names a file that will be gone")
				}
				if got := g.status(job); got != 130 {
					t.Errorf("exit status %d", got)
				}
				close(over)
			})
		})
	}
}
