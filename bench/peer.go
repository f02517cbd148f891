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

// assignment is the first line that a worker reads: what it measures.
type assignment struct {
	Scenario string
	Side     side
	Size     size
	Dir      string // for files; removed at the end
	Profile  string // directory for a CPU profile; "": none
}

// answer is a worker's report when it is ready, and after each round.
type answer struct {
	Values values
	Error  string
	Lacks  bool // the machine cannot run this scenario; Error gives the reason
}

// errLacking means that this machine cannot run a scenario.
var errLacking = errors.New("this machine cannot run the scenario")

// peer is a worker process, seen from the driver.
type peer struct {
	side    side
	cmd     *exec.Cmd
	baton   *json.Encoder
	in      *os.File
	answers chan answer   // closed after the last answer
	gone    chan struct{} // closed after its exit
}

// Bounds for a worker, far beyond what it needs: a hang is an error.
const (
	roundLimit = 3 * time.Minute
	closeLimit = time.Minute
)

// workerEnv lists the variables of a worker, and so of every job of both sides. The
// cost of a start grows with the environment, and our side passes on its allow-list
// only. It is that list. Without SHELL, bash looks up its user, which takes a twentieth
// of its time on either side.
var workerEnv = []string{"PATH", "HOME", "LANG", "TERM", "SHELL", "USER", "LOGNAME", "TMPDIR"}

// startPeer starts a worker and waits until it is ready. The worker is a process group
// of its own, so that Ctrl-C reaches the driver alone, which ends it in order.
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

// listen reads all answers, then waits for the exit.
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
	_ = p.cmd.Wait() // its answers contain any error
}

// round lets the worker run one round.
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

// close closes the worker's input, upon which it ends what it started and exits. After
// closeLimit it is killed.
func (p *peer) close() error {
	err := p.in.Close()
	late := time.NewTimer(closeLimit)
	defer late.Stop()
	for {
		select {
		case <-p.gone:
			return err
		case _, open := <-p.answers: // of a round without a waiter
			if !open {
				p.answers = nil
			}
		case <-late.C:
			err = errors.Join(err, fmt.Errorf("%s: the worker did not end and was killed", p.side), p.cmd.Process.Kill())
		}
	}
}
