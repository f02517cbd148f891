package keeper_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"troupe/backends"
	"troupe/backends/keeper"
	liveshell "troupe/backends/shell"
	"troupe/messages"
)

// counted is what each command of the test does: it counts in a variable of the shell,
// says how far, with a long line, and ends with a status that tells it, too.
const counted = `n=$((n + 1)); printf '%020000d\n' $n; (exit $((n % 7)))`

// liveDaemon is a daemon with one live shell, in which it runs one command after the
// other and tells the result of each, until it is killed. The next goes on with the shell.
func liveDaemon(c *keeper.Client, o liveshell.Options) {
	fail := func(err error) {
		fmt.Println("error", err)
		os.Exit(1)
	}
	held, err := c.Inventory(context.Background())
	if err != nil {
		fail(err)
	}
	at := backends.ExecutorSpec{Scope: "main", Session: "s", Dir: "/", Env: []string{"PATH=/usr/bin:/bin"}, Umask: -1}
	place, err := liveshell.New(c, o).Open(at, held, func(f messages.ProcessFact) {
		if r, ok := f.(messages.SessionReplaced); ok {
			fail(fmt.Errorf("the shell was replaced: %+v", r))
		}
	})
	if err != nil {
		fail(err)
	}
	slices.SortFunc(held, func(a, b backends.InventoryJob) int { return strings.Compare(string(a.ID), string(b.ID)) })
	for _, h := range held {
		if _, _, ok := backends.ReadShellMeta(h.Meta); ok {
			continue
		}
		results := make(chan messages.ProcessFact, 64)
		p, err := place.Adopt(h.ID, func(f messages.ProcessFact) { results <- f })
		if err != nil {
			fail(err)
		}
		tellResult(h.ID, p, results, fail)
	}
	for {
		id, results := newUID(), make(chan messages.ProcessFact, 64)
		p := place.Start(backends.Command{
			ID: id, Text: counted, Umask: -1, Meta: []byte("{}"), Stdio: backends.Stdio{Stdin: messages.StdinNull, Streams: messages.MergedStreams},
		}, func(f messages.ProcessFact) { results <- f })
		tellResult(id, p, results, fail)
	}
}

// tellResult tells a result, and settles it.
func tellResult(id messages.UID, p backends.Process, results <-chan messages.ProcessFact, fail func(error)) {
	var x messages.ProcessExited
	last, closed, ended := uint64(0), false, false
	for !closed || !ended {
		switch f := (<-results).(type) {
		case messages.ProcessFailed:
			fail(&f.Err)
		case messages.ProcessLost:
			fail(&f.Err)
		case messages.ProcessExited:
			x, last = f, max(last, f.Seq, f.Last)
			closed, ended = closed || f.Last > 0, ended || f.Last > 0
		case messages.OutputClosed:
			closed, last = true, max(last, f.Seq)
		case messages.TreeEnded:
			ended, last = true, max(last, f.Seq)
		}
	}
	log, err := p.Output(messages.Merged)
	if err != nil {
		fail(err)
	}
	text, err := io.ReadAll(io.NewSectionReader(log, 0, log.State().Size))
	if err != nil {
		fail(err)
	}
	_ = log.Close()
	n := -1
	_, _ = fmt.Sscanf(strings.TrimLeft(string(text), "0"), "%d", &n)
	fmt.Println("result", id, n, x.Status.Shell(), len(text)-strings.Count(string(text), "\r"))
	p.Settle(last)
}

// A daemon that is killed while commands run in a live shell costs none of them: each
// is begun once, its status comes, its output is whole, and the shell counts on.
func TestDaemonDiesOverALiveShell(t *testing.T) { diesOverALiveShell(t, "shell") }

// So it is on a terminal.
func TestDaemonDiesOverALiveShellOnATerminal(t *testing.T) { diesOverALiveShell(t, "shell-pty") }

func diesOverALiveShell(t *testing.T, kind string) {
	dir := keeperDir(t)
	first := open(t, dir) // it keeps the keeper from ending with the first daemon
	first.Close(true)
	type result struct{ n, code, size int }
	results := map[string]result{}
	for range 20 {
		cmd := exec.CommandContext(t.Context(), self(t), daemonArg, dir, kind, string(newUID()))
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var timer *time.Timer
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var id string
			var r result
			if strings.HasPrefix(lines.Text(), "error") {
				t.Fatal(lines.Text())
			}
			if k, _ := fmt.Sscanf(lines.Text(), "result %s %d %d %d", &id, &r.n, &r.code, &r.size); k < 4 {
				continue
			}
			if was, twice := results[id]; twice && was != r {
				t.Errorf("%s ended with %+v, and then with %+v", id, was, r)
			}
			results[id] = r
			if timer == nil { // from the first result on, at any instant
				timer = time.AfterFunc(time.Duration(rand.IntN(20_000))*time.Microsecond, func() { _ = cmd.Process.Kill() })
			}
		}
		_ = cmd.Wait()
	}
	var all []result
	for _, r := range results {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b result) int { return a.n - b.n })
	for i, r := range all {
		if want := (result{i + 1, (i + 1) % 7, 20001}); r != want {
			t.Fatalf("result %d of %d is %+v, want %+v", i, len(all), r, want)
		}
	}
	t.Logf("%d commands", len(all))
	c := open(t, dir)
	if left := c.Close(false); len(left) > 0 {
		t.Errorf("survivors: %+v", left)
	}
}
