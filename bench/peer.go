//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// assignment is the first line that a worker reads: what it is to measure.
type assignment struct {
	Scenario string
	Side     side
	Size     size
	Dir      string // for files; it is removed at the end
	Profile  string // a directory for a CPU profile; "": none
}

// answer is what a worker says when it is ready, and after each round.
type answer struct {
	Values values
	Error  string
	Lacks  bool // the machine cannot run this scenario; Error says why
}

// errLacking is the reason of a scenario that this machine cannot run.
var errLacking = errors.New("this machine cannot run it")

// peer is a worker as the driver sees it.
type peer struct {
	side    side
	cmd     *exec.Cmd
	baton   *json.Encoder
	in      *os.File
	answers chan answer   // closed when it says no more
	gone    chan struct{} // closed when it has exited
}

// How long a worker may take, far beyond what it needs: a hang is an error.
const (
	roundLimit = 3 * time.Minute
	closeLimit = time.Minute
)

// workerEnv are the variables that a worker, and so every job of both sides,
// has: the cost of a start grows with the environment, and ours hands on only
// what its allow-list names. It is that list: without SHELL a bash looks its user up
// in the account database, which is a twentieth of its time on either side.
var workerEnv = []string{"PATH", "HOME", "LANG", "TERM", "SHELL", "USER", "LOGNAME", "TMPDIR"}

// startPeer starts a worker and waits until it is ready. It is a process group
// of its own: Ctrl-C at the terminal is the driver's, which ends it in order.
func startPeer(ctx context.Context, e assignment) (*peer, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &peer{side: e.Side, cmd: exec.Command(self, workerRole), answers: make(chan answer, 1), gone: make(chan struct{})}
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); contains(workerEnv, name) {
			p.cmd.Env = append(p.cmd.Env, entry)
		}
	}
	p.cmd.Stderr = os.Stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, give, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, errors.Join(err, in.Close(), give.Close())
	}
	p.cmd.Stdin, p.in, p.baton = in, give, json.NewEncoder(give)
	err = errors.Join(p.cmd.Start(), in.Close())
	if err != nil {
		return nil, errors.Join(err, give.Close())
	}
	go p.listen(json.NewDecoder(out))
	if err := p.baton.Encode(e); err != nil {
		return nil, errors.Join(err, p.close())
	}
	if _, err := p.hear(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", p.side, err), p.close())
	}
	return p, nil
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// listen reads answers until there are no more, then waits for the exit.
func (p *peer) listen(from *json.Decoder) {
	defer close(p.gone)
	for {
		var a answer
		if from.Decode(&a) != nil {
			break
		}
		p.answers <- a
	}
	close(p.answers)
	_ = p.cmd.Wait() // its answers said how it went
}

// round hands over the baton and waits until it is back.
func (p *peer) round(ctx context.Context) (values, error) {
	if err := p.baton.Encode("round"); err != nil {
		return nil, err
	}
	return p.hear(ctx)
}

func (p *peer) hear(ctx context.Context) (values, error) {
	ctx, cancel := context.WithTimeout(ctx, roundLimit)
	defer cancel()
	select {
	case a, ok := <-p.answers:
		switch {
		case !ok:
			return nil, errors.New("the worker ended without an answer")
		case a.Lacks:
			return nil, fmt.Errorf("%w: %s", errLacking, a.Error)
		case a.Error != "":
			return nil, errors.New(a.Error)
		}
		return a.Values, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// close takes the worker's input away, upon which it ends what it started and
// exits; one that does not is killed.
func (p *peer) close() error {
	err := p.in.Close()
	late := time.NewTimer(closeLimit)
	defer late.Stop()
	for {
		select {
		case <-p.gone:
			return err
		case _, open := <-p.answers: // of a round that nobody waits for any more
			if !open {
				p.answers = nil
			}
		case <-late.C:
			err = errors.Join(err, fmt.Errorf("%s: the worker did not end and was killed", p.side), p.cmd.Process.Kill())
		}
	}
}
