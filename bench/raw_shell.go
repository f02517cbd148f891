//go:build linux

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

// rawShell is a bash on pipes as it is driven without care: the command is typed, and
// behind it a marker with its status.
type rawShell struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	n   int
}

func newRawShell(_ context.Context, e errand) (runner, error) {
	r := &rawShell{cmd: exec.Command("bash", "--norc", "--noprofile"), n: e.Size.RoundTrips}
	var err error
	if r.in, err = r.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	r.out = bufio.NewReader(out)
	return r, r.cmd.Start()
}

func (r *rawShell) round(ctx context.Context) (values, error) {
	times := make([]time.Duration, 0, r.n)
	for i := range r.n {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		start := time.Now()
		if _, err := fmt.Fprintf(r.in, ":\necho __DONE_%d_$?\n", i); err != nil {
			return nil, err
		}
		line, err := r.out.ReadString('\n')
		if err != nil {
			return nil, err
		}
		if strings.TrimSpace(line) != fmt.Sprintf("__DONE_%d_0", i) {
			return nil, fmt.Errorf("the shell said %q", line)
		}
		times = append(times, time.Since(start))
	}
	return latencies(times), nil
}

func (r *rawShell) close() error {
	_ = r.in.Close()
	return r.cmd.Wait()
}
