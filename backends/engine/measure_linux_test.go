package engine

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"troupe/backends"
	"troupe/messages"
	"troupe/spill"
)

// oneshot is the program of the scenario of that name in docs/performance.md.
func oneshot() []string { return []string{"/bin/bash", "--norc", "--noprofile", "-c", "true"} }

// BenchmarkOneshot compares a one-shot in each mode with what a Go user writes,
// in interleaved rounds: the ratios are of medians and of 99th percentiles.
func BenchmarkOneshot(b *testing.B) {
	modes := []string{"library", "own", "library+nocgroup", "own+nocgroup"}
	var servers []*server
	for _, m := range modes {
		servers = append(servers, serve(b, m))
	}
	const batch = 50
	took := make([][]time.Duration, len(modes)+1)
	for b.Loop() {
		for i := range took {
			if i == len(modes) {
				took[i] = append(took[i], raw(batch)...)
			} else {
				took[i] = append(took[i], servers[i].run(b, batch)...)
			}
		}
	}
	base := took[len(modes)]
	for i, m := range modes {
		b.ReportMetric(ratio(took[i], base, 50), m+"-p50")
		b.ReportMetric(ratio(took[i], base, 99), m+"-p99")
	}
	b.ReportMetric(float64(percentile(base, 50).Microseconds()), "raw-us")
}

func percentile(d []time.Duration, p int) time.Duration {
	d = slices.Sorted(slices.Values(d))
	return d[min(len(d)-1, len(d)*p/100)]
}

func ratio(ours, raw []time.Duration, p int) float64 {
	return float64(percentile(ours, p)) / float64(percentile(raw, p))
}

func raw(n int) []time.Duration {
	var took []time.Duration
	for range n {
		began := time.Now()
		argv := oneshot()
		c := exec.Command(argv[0], argv[1:]...)
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		var out bytes.Buffer
		c.Stdout, c.Stderr = &out, &out
		if err := c.Run(); err != nil {
			panic(err)
		}
		took = append(took, time.Since(began))
	}
	return took
}

// server is an engine in a process of its own, in some mode.
type server struct {
	in  *bufio.Writer
	out *bufio.Reader
}

const serveVar = "TROUPE_ENGINE_SERVE"

func serve(b testing.TB, mode string) *server {
	b.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), serveVar+"="+b.TempDir(), modeVar+"="+mode)
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := c.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		in.Close()
		c.Wait()
	})
	return &server{bufio.NewWriter(in), bufio.NewReader(out)}
}

func (s *server) run(b testing.TB, n int) []time.Duration {
	fmt.Fprintln(s.in, n)
	s.in.Flush()
	line, err := s.out.ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	var took []time.Duration
	for _, f := range strings.Fields(line) {
		ns, _ := strconv.ParseInt(f, 10, 64)
		took = append(took, time.Duration(ns))
	}
	return took
}

// serving answers each number on stdin with the times of so many one-shots.
func serving(dir string) {
	os.Chmod(dir, 0o700)
	store, err := spill.OpenStore(spill.Options{Root: dir, Node: "TEST"})
	if err != nil {
		panic(err)
	}
	m := modeNow()
	e, err := New(Options{Node: "MEASURE", Store: store, Own: m.own, NoCgroup: m.nocgroup})
	if err != nil {
		panic(err)
	}
	defer store.Close()
	defer e.Close(false)
	env := os.Environ()
	lines := bufio.NewScanner(os.Stdin)
	serial := 0
	for lines.Scan() {
		n, _ := strconv.Atoi(lines.Text())
		for range n {
			serial++
			fmt.Print(one(e, serial, env).Nanoseconds(), " ")
		}
		fmt.Println()
	}
}

func one(e *Local, serial int, env []string) time.Duration {
	exited, over := make(chan struct{}), make(chan messages.TreeEnded, 1)
	began := time.Now()
	p := e.Start(backends.Spec{
		ID: messages.UID(strconv.Itoa(serial)), Argv: oneshot(), Env: env, Umask: -1,
	}, func(f messages.ProcessFact) {
		switch f := f.(type) {
		case messages.ProcessExited:
			close(exited)
		case messages.TreeEnded:
			over <- f
		}
	})
	<-exited
	took := time.Since(began)
	end := <-over
	p.Settle(end.Seq + 1)
	return took
}
