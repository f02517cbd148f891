package copilot

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/backends/keeper"
	"troupe/host"
	"troupe/internal/artifact"
	"troupe/internal/dialect"
	"troupe/internal/limits"
	"troupe/internal/node"
	"troupe/internal/test/dialect"
	"troupe/messages"
	"troupe/spill"
)

// roleArg makes this test program a keeper, which detached commands need.
const roleArg = "keeper-role"

func TestMain(m *testing.M) {
	if len(os.Args) < 2 || os.Args[1] != roleArg {
		os.Exit(m.Run())
	}
	dir, fd := "", -1
	for i, arg := range os.Args[:len(os.Args)-1] {
		switch arg {
		case "--dir":
			dir = os.Args[i+1]
		case "--fd":
			fd, _ = strconv.Atoi(os.Args[i+1])
		}
	}
	if err := keeper.Main(dir, fd, "test", false, slices.Contains(os.Args, "--alone"), limits.Given{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// rig is a session over a real node.
type rig struct {
	*Session
	t      *testing.T
	node   *node.Node
	beside *sync.WaitGroup
	dir    string
	files  string
	told   chan Notice
}

// with changes what a rig is made of.
type with func(*Options)

func settings(change func(*Settings)) with { return func(o *Options) { change(&o.Settings) } }

// spawned has each command be a process of its own.
var spawned = settings(func(s *Settings) { s.SpawnBackend = true })

// late has synchronous commands go on in the background when each has written its text
// (until[command]), however long that takes; what they are told is that they had so long.
func late(wait time.Duration, until map[string]string) with {
	return func(o *Options) {
		var waited atomic.Int64 // by a clock that goes on when a call has waited
		o.Now = func() time.Time { return time.Now().Add(time.Duration(waited.Load())) }
		o.Settings.InitialWait = wait
		o.Host = dialecttest.Late{Host: o.Host, Beside: o.Beside, Until: until, Waited: func(wait time.Duration) { waited.Add(int64(wait)) }}
	}
}

func env(entries ...string) with {
	return func(o *Options) { o.Env = append(o.Env, entries...) }
}

// newRig makes one; what it starts is over at the end of the test.
func newRig(t *testing.T, changes ...with) *rig {
	t.Helper()
	return rigOn(t, dialecttest.Node(t), changes...)
}

// both runs a test on each of the backends.
func both(t *testing.T, test func(t *testing.T, changes ...with)) {
	t.Helper()
	t.Run("pty", func(t *testing.T) { test(t) })
	t.Run("process", func(t *testing.T) { test(t, spawned) })
}

func rigOn(t *testing.T, node *node.Node, changes ...with) *rig {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	r := &rig{t: t, node: node, beside: &sync.WaitGroup{}, dir: dir, files: t.TempDir(), told: make(chan Notice, 100)}
	files, err := artifact.NewDir(r.files, "s1")
	require.NoError(t, err)
	o := Options{
		Host: node.DialectHost(), Beside: r.beside, Dir: dir, SessionID: "agent-1", Files: files, Notify: func(n Notice) { r.told <- n },
		Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir},
	}
	for _, change := range changes {
		change(&o)
	}
	r.Session = New(o)
	t.Cleanup(func() {
		require.NoError(t, r.Close(context.Background()))
		r.beside.Wait()
	})
	return r
}

type args map[string]any

// call calls a tool as a model does: with JSON.
func (r *rig) call(tool string, arguments any) dialect.Result {
	r.t.Helper()
	result, err := r.calls(context.Background(), tool, arguments, nil)
	require.NoError(r.t, err)
	return result
}

func (r *rig) calls(ctx context.Context, tool string, arguments any, update func(dialect.Result)) (dialect.Result, error) {
	r.t.Helper()
	text, err := json.Marshal(arguments)
	require.NoError(r.t, err)
	for _, t := range r.Tools() {
		if t.Name == tool {
			return t.Call(ctx, dialect.Call{Arguments: text, Update: update})
		}
	}
	r.t.Fatalf("there is no tool %s", tool)
	return dialect.Result{}, nil
}

// listed is what list_bash tells a program.
func (r *rig) listed() *Listing {
	r.t.Helper()
	result, err := r.List(context.Background())
	require.NoError(r.t, err)
	return result.Details.(*Listing)
}

// promote promotes the command of a shell as another client of the daemon does.
func (r *rig) promote(id string) {
	r.t.Helper()
	_, err := r.node.Ask(context.Background(), messages.PromoteCommand{Job: r.job(id), Keep: true})
	require.NoError(r.t, err)
}

// reclaims closes the shell that has been idle longest, as a new shell does above the limit.
func (r *rig) reclaims() {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	require.True(r.t, r.reclaim())
}

// sync runs a command and waits for it.
func (r *rig) sync(command string) dialect.Result {
	r.t.Helper()
	return r.call("bash", args{"command": command, "description": "a test"})
}

// async begins a command in a shell.
func (r *rig) async(id, command string) dialect.Result {
	r.t.Helper()
	return r.call("bash", args{"command": command, "description": "a test", "mode": "async", "shellId": id})
}

func (r *rig) read(id string, delay float64) dialect.Result {
	r.t.Helper()
	return r.call("read_bash", args{"shellId": id, "delay": delay})
}

func (r *rig) write(id, input string) dialect.Result {
	r.t.Helper()
	return r.call("write_bash", args{"shellId": id, "input": input, "delay": 10})
}

// wrote waits until a command has written a text.
func (r *rig) wrote(id, text string) {
	r.t.Helper()
	end, err := host.Ask(context.Background(), r.options.Host, messages.WaitJobs{
		Jobs: []messages.JobID{r.job(id)}, Condition: messages.Condition{Kind: messages.UntilPattern, Pattern: regexp.QuoteMeta(text)}, Timeout: time.Minute,
	})
	require.NoError(r.t, err)
	require.True(r.t, end.Satisfied, "%q was never written", text)
}

func (r *rig) job(id string) messages.JobID {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	require.Contains(r.t, r.tasks, id)
	return r.tasks[id].job()
}

// over waits for the end of the command of a shell.
func (r *rig) over(id string) {
	r.t.Helper()
	r.mu.Lock()
	e := r.tasks[id]
	r.mu.Unlock()
	require.NotNil(r.t, e)
	select {
	case <-e.done:
	case <-time.After(time.Minute):
		r.t.Fatalf("the command in %s does not end", id)
	}
}

// notice is the next one.
func (r *rig) notice() Notice {
	r.t.Helper()
	select {
	case n := <-r.told:
		return n
	case <-time.After(time.Minute):
		r.t.Fatal("there is no notice")
		return Notice{}
	}
}

// silent says that there was no notice more.
func (r *rig) silent() {
	r.t.Helper()
	require.Empty(r.t, r.told)
}

func details(t *testing.T, r dialect.Result) Details {
	t.Helper()
	d, ok := r.Details.(*Details)
	require.True(t, ok, "%T: %s", r.Details, r.Text)
	return *d
}

// detaching is a node whose jobs can be detached: each has a keeper of its own.
func detaching(t *testing.T) *node.Node {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	root := t.TempDir()
	program := []string{self, roleArg}
	quiet := append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	fleet, err := keeper.OpenFleet(context.Background(), keeper.FleetOptions{
		Root: filepath.Join(root, "detached"), Build: "test", Program: program, Env: quiet, Fault: func(err error) { t.Logf("keeper: %v", err) },
		Main: keeper.ClientOptions{Dir: filepath.Join(root, "keeper"), Build: "test", Program: program, Env: quiet},
	})
	require.NoError(t, err)
	return dialecttest.Node(t, func(o *node.Options) { o.Dir, o.Engine, o.Logs = root, fleet, fleetLogs{fleet} })
}

// fleetLogs are the outputs of a fleet's jobs, as a node asks for them.
type fleetLogs struct{ *keeper.Fleet }

func (l fleetLogs) Open(id string, stream uint8) (spill.Log, error) {
	return l.Fleet.Open(messages.UID(id), messages.Stream(stream))
}

func (l fleetLogs) Remove(id string) error {
	l.Fleet.Remove(messages.UID(id))
	return nil
}
