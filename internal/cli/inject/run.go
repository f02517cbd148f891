package inject

import (
	"context"
	"fmt"
	"time"

	"troupe/faults"
	"troupe/internal/gateway/http"
	"troupe/messages"
)

// tellPatience bounds how long a fault waits to be reported: a node that restores its jobs answers
// late.
const tellPatience = 30 * time.Second

// Run tells jobs of their faults, and watches the outputs that rules wait for, until ctx ends.
func (i *Injector) Run(ctx context.Context, of http.Node) {
	for {
		select {
		case f := <-i.pending:
			patient, cancel := context.WithTimeout(ctx, tellPatience)
			_, _ = of.Ask(patient, messages.ReportFault{Job: f.Job, Fault: fmt.Sprintf("%s #%d", f.Rule, f.Number)}) // a removed job has no record
			cancel()
		case p := <-i.watch:
			go i.watchOutput(ctx, of, p)
		case <-ctx.Done():
			return
		}
	}
}

// maxWatched bounds what a rule sees of an output, in bytes from its end.
const maxWatched = 64 << 10

// watchOutput follows the output of a job for the rules that wait for it.
func (i *Injector) watchOutput(ctx context.Context, of http.Node, p *process) {
	o, err := of.Output(ctx, messages.JobID(p.uid), messages.Merged, 0)
	if err != nil {
		o, err = of.Output(ctx, messages.JobID(p.uid), messages.Stdout, 0)
	}
	if err != nil {
		return
	}
	defer o.Close()
	var seen []byte
	for b := make([]byte, maxWatched/2); err == nil; {
		var n int
		n, err = o.Read(b)
		if seen = append(seen, b[:n]...); len(seen) > maxWatched {
			seen = seen[len(seen)-maxWatched:]
		}
		if n > 0 {
			i.at(faults.Output, p.uid, p.of, seen...)
		}
	}
}
