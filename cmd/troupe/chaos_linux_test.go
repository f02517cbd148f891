package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"troupe/client"
	"troupe/host"
	"troupe/internal/cli/config"
	"troupe/internal/test/need"
	"troupe/messages"
)

// How many rounds there are, and how many jobs one has.
const (
	chaosRounds     = 3
	chaosSoakRounds = 300
	chaosJobs       = 60
	chaosFailures   = 10 // directories with a failure; then the test ends
)

// Random faults happen to daemon, keeper, clients and disk while jobs of all kinds run, and
// each job notes its own start and end in a file. Whatever happens: each job ran at most
// once; its record, its output, its notice and each client that waited have the truth; and
// no client hangs, and no process or cgroup is left. Jobs and faults come from the seed,
// instants do not.
//
//	TROUPE_SOAK=1 go test -timeout=90m -v -run TestFaultChaos$ ./cmd/troupe
//	TROUPE_SEED=17 go test -v -run TestFaultChaos$ ./cmd/troupe
func TestFaultChaos(t *testing.T) {
	need.Feature(t, need.Soak() || os.Getenv("TROUPE_SEED") != "", "TROUPE_SOAK=1, or a seed in TROUPE_SEED")
	t.Parallel()
	seed := uint64(time.Now().UnixNano()) % 1_000_000
	if text := os.Getenv("TROUPE_SEED"); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
	}
	t.Logf("TROUPE_SEED=%d", seed)
	rng := rand.New(rand.NewPCG(seed, seed)) //nolint:gosec // it is to be the same again
	rounds := chaosRounds
	if need.Soak() {
		rounds = chaosSoakRounds
	}
	group, all := "", &tally{}
	t.Run("cgroups", func(t *testing.T) { group = chaosGroup(t) })
	builds := chaosBuilds(t)
	failed := 0
	for first := 1; first <= rounds && failed < chaosFailures; {
		few := min(1+rng.IntN(4), rounds-first+1)
		small := rng.IntN(3) == 0 || first == rounds
		plans := make([]*chaosRound, few)
		for i := range plans {
			plans[i] = planRound(rng, first+i, small)
		}
		if !t.Run(fmt.Sprintf("rounds %d to %d, small disk %v", first, first+few-1, small), func(t *testing.T) {
			c := newChaos(t, builds, group, small, all)
			for _, r := range plans {
				c.play(r)
			}
		}) {
			failed++
		}
		first += few
	}
	t.Logf("TROUPE_SEED=%d: %s", seed, all)
}

// chaosGroup returns the directory of the cgroup in which those of each daemon are made.
func chaosGroup(t *testing.T) string {
	t.Helper()
	group := need.Cgroup(t)
	fd, err := unix.Open(group, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	defer unix.Close(fd)
	cmd := exec.CommandContext(t.Context(), "true")
	cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: fd}
	need.Feature(t, cmd.Run() == nil, "the start of a process in a cgroup")
	return group
}

// chaosBuilds builds the program, and copies it with another version of the same length.
func chaosBuilds(t *testing.T) (builds [2]string) {
	t.Helper()
	const first, second = "v1.0.0-chaos", "v2.0.0-chaos"
	dir := t.TempDir()
	builds = [2]string{filepath.Join(dir, "first"), filepath.Join(dir, "second")}
	build := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-ldflags", "-s -w -X main.version="+first, "-o", builds[0], ".")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	text, err := os.ReadFile(builds[0])
	require.NoError(t, err)
	require.Contains(t, string(text), first)
	require.NoError(t, os.WriteFile(builds[1], bytes.ReplaceAll(text, []byte(first), []byte(second)), 0o700))
	return builds
}

// chaos is a directory whose daemon, keeper, clients and disk meet with faults.
type chaos struct {
	*process // its surroundings; it is never started
	t        *testing.T
	builds   [2]string
	bin      string // the installed program
	state    string
	group    *os.File // cgroup of its processes; nil: none
	full     string   // the file that fills the disk; "": its disk is not small
	all      *tally

	client *client.Client
	daemon *process // the last one that the test started

	mu      sync.Mutex
	clients map[*process]*chaosJob // that run
	log     []string               // what happened
	begun   time.Time
}

// newChaos makes a directory and starts the first daemon.
func newChaos(t *testing.T, builds [2]string, group string, small bool, all *tally) *chaos {
	t.Helper()
	p := program(t)
	c := &chaos{process: p, t: t, builds: builds, bin: p.file("bin/troupe"), state: p.file("troupe"), all: all, clients: map[*process]*chaosJob{}, begun: time.Now()}
	require.NoError(t, errors.Join(os.Mkdir(p.file("bin"), 0o700), os.Mkdir(p.file("run"), 0o700)))
	c.install(0)
	if small {
		c.state = mounted(t, 64<<20)
		c.full = filepath.Join(c.state, "full")
		t.Cleanup(func() { endKeeper(c.state) })
	}
	require.NoError(t, os.WriteFile(p.file("config.toml"), []byte("[limits]\nparallel = 6\n"), 0o600))
	c.Env = append(c.Env, "XDG_RUNTIME_DIR="+p.file("run"), "TROUPE_STATE="+c.state, "TROUPE_CONFIG="+p.file("config.toml"), "CHAOS="+p.dir)
	if group != "" {
		dir, err := os.MkdirTemp(group, "troupe-chaos-")
		require.NoError(t, err)
		t.Cleanup(func() { _ = os.Remove(dir) })
		c.group, err = os.Open(dir)
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.group.Close() })
	}
	t.Cleanup(func() {
		for _, pid := range c.left() { // after a failure
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	c.serve()
	return c
}

// install puts a build in the place of the program.
func (c *chaos) install(build int) {
	c.t.Helper()
	_ = os.Remove(c.bin + ".new") // which a rename to another name of the same file leaves
	require.NoError(c.t, errors.Join(os.Link(c.builds[build], c.bin+".new"), os.Rename(c.bin+".new", c.bin)))
}

// troupe prepares a client, or a daemon.
func (c *chaos) troupe(args ...string) *process {
	c.t.Helper()
	p := c.beside(args...)
	p.Path, p.Err = c.bin, nil
	p.SysProcAttr = &syscall.SysProcAttr{}
	if c.group != nil {
		p.SysProcAttr.UseCgroupFD, p.SysProcAttr.CgroupFD = true, int(c.group.Fd())
	}
	p.Stdout = &lines{news: make(chan struct{}, 1)}
	return p
}

// serve starts a daemon, unless a client has started one, and waits until it answers.
func (c *chaos) serve() {
	c.t.Helper()
	for late := time.Now().Add(tooLong); ; {
		p := c.troupe("serve")
		c.daemon = p.start()
		for is := false; !is; {
			select {
			case <-p.ended:
				is = true
			case <-p.err.news:
				is = strings.Contains(p.err.String(), `"message":"ready"`)
			}
		}
		dialed, err := client.Dial(c.t.Context(), c.file("run/troupe/"+config.SocketName))
		if err != nil {
			require.True(c.t, time.Now().Before(late), "no daemon answers: %v: %s", err, p.err)
			continue
		}
		if c.client == nil {
			c.client = dialed
		} else {
			_ = dialed.Close()
		}
		return
	}
}

// note adds a line to what happened.
func (c *chaos) note(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.log = append(c.log, fmt.Sprintf("%8.3f ", time.Since(c.begun).Seconds())+fmt.Sprintf(format, args...))
}

// wrong reports a fault of the product.
func (c *chaos) wrong(kind, format string, args ...any) {
	c.t.Helper()
	c.all.add("WRONG "+kind, 1)
	c.t.Errorf("%s: "+format, append([]any{kind}, args...)...)
}

// left are the processes of this directory: by their environments or arguments.
func (c *chaos) left() (pids []int) {
	for _, file := range []string{"environ", "cmdline"} {
		paths, _ := filepath.Glob("/proc/[0-9]*/" + file)
		for _, path := range paths {
			text, _ := os.ReadFile(path)
			if strings.Contains(string(text), c.dir) || strings.Contains(string(text), c.state) {
				pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
				pids = append(pids, pid)
			}
		}
	}
	slices.Sort(pids)
	return slices.Compact(pids)
}

// nothingLeft ends the daemon in order and checks that no process and no cgroup is left.
func (c *chaos) nothingLeft(stop bool) {
	c.t.Helper()
	args := []string{"shutdown"}
	if stop {
		args = append(args, "--stop-jobs", "--grace", "1s")
	} else {
		c.closeShells()
	}
	for late := time.Now().Add(tooLong); ; {
		p := c.troupe(args...).start()
		<-p.ended
		if !p.ProcessState.Success() && strings.Contains(p.err.String(), "no daemon") && c.daemonPID() != 0 && time.Now().Before(late) {
			continue // its sockets were removed
		}
		if !p.ProcessState.Success() {
			c.wrong("left", "%v: %v: %s", args, p.ProcessState, p.err)
		}
		break
	}
	q := c.troupe("run", "--no-daemon", "true").start() // it ends what killed clients without a daemon have left
	<-q.ended
	limit := time.Now().Add(tooLong / 4)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for len(c.left()) > 0 || c.groups() > 1 {
		if time.Now().After(limit) {
			for _, pid := range c.left() {
				text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
				children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
				c.wrong("left", "process %d after %v: %q, children %s", pid, args, strings.ReplaceAll(string(text), "\x00", " "), children)
			}
			if n := c.groups(); n > 1 {
				c.wrong("left", "%d cgroups: %s", n-1, c.groupNames())
			}
			return
		}
		<-tick.C
	}
}

// groups counts the cgroup of this directory and those in it.
func (c *chaos) groups() int {
	if c.group == nil {
		return 1
	}
	return directories(c.group.Name())
}

func (c *chaos) groupNames() (names []string) {
	for _, pattern := range []string{"/*/", "/*/*/"} {
		some, _ := filepath.Glob(c.group.Name() + pattern)
		names = append(names, some...)
	}
	return names
}

// closeShells closes all sessions but the one of jobs without a session.
func (c *chaos) closeShells() {
	c.t.Helper()
	list, err := host.Ask(c.t.Context(), c.client.Host(), messages.ListSessions{})
	require.NoError(c.t, err)
	for _, s := range list.Sessions {
		if s.Backend == messages.BackendShell || s.Backend == messages.BackendShellPTY {
			_, err := host.Ask(c.t.Context(), c.client.Host(), messages.CloseSession{Scope: s.Scope, Session: s.Session})
			require.NoError(c.t, err)
		}
	}
}

// tally counts what happened in all rounds.
type tally struct {
	mu     sync.Mutex
	counts map[string]int
	active time.Duration // in which jobs were started
}

func (y *tally) add(what string, n int) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.counts == nil {
		y.counts = map[string]int{}
	}
	y.counts[what] += n
}

// String is the summary.
func (y *tally) String() string {
	y.mu.Lock()
	defer y.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "%d rounds, %d jobs, %.0f a second", y.counts["rounds"], y.counts["jobs"], float64(y.counts["jobs"])/max(y.active.Seconds(), 1e-9))
	keys := make([]string, 0, len(y.counts))
	for key := range y.counts {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, cmp.Compare)
	for _, key := range keys {
		fmt.Fprintf(&b, "\n\t%6d %s", y.counts[key], key)
	}
	return b.String()
}
