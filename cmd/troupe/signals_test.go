package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/internal/cli"
	"troupe/internal/cli/out"
	"troupe/messages"
)

// ignoresTERM is a command that notices TERM and does not end of it, with a child that
// does not even notice; both say their ids.
const ignoresTERM = `trap "echo asked" TERM; (trap "" TERM INT HUP QUIT; echo $BASHPID; exec sleep 600) & echo $$; while :; do wait; done`

// pids reads the ids of a command's two processes.
func (p *process) pids() []string {
	p.t.Helper()
	return []string{p.line(), p.line()}
}

func TestOneSignalAsksThenKills(t *testing.T) {
	t.Parallel()
	for sig, status := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143, syscall.SIGHUP: 129} {
		t.Run(cli.SignalName(sig), func(t *testing.T) {
			t.Parallel()
			const grace = 5 * time.Second
			p := program(t, "run", "--grace", grace.String(), ignoresTERM).start()
			tree := p.pids()
			asked := time.Now()
			p.send(sig)
			if got := p.line(); got != "asked" {
				t.Errorf("the command was told %q", got)
			}
			p.err.has(t, "troupe: "+cli.SignalName(sig)+": stopping the command; a second signal kills it\n")
			p.ends(status)
			gone(t, tree...)
			if took := time.Since(asked); took < grace {
				t.Errorf("it was killed after %v, within its grace", took)
			}
			if want := "troupe: the command was stopped: interrupted by " + cli.SignalName(sig) + "\n"; !strings.HasSuffix(p.err.String(), want) {
				t.Errorf("the report is %q", p.err)
			}
		})
	}
}

func TestTheSecondSignalKills(t *testing.T) {
	t.Parallel()
	program(t, "run", "--grace", "1h", ignoresTERM).start().killedBy(syscall.SIGINT, syscall.SIGINT, 130)
}

// A second signal of another kind kills, too; the first one is the status.
func TestSignalsOfTwoKinds(t *testing.T) {
	t.Parallel()
	program(t, "run", "--grace", "1h", ignoresTERM).start().killedBy(syscall.SIGTERM, syscall.SIGINT, 143)
}

// killedBy sends the second signal to a run of ignoresTERM when the command has noticed
// the first, and waits for the end of both processes.
func (p *process) killedBy(first, second syscall.Signal, status int) {
	p.t.Helper()
	tree := p.pids()
	p.send(first)
	if got := p.line(); got != "asked" {
		p.t.Errorf("the command was told %q", got)
	}
	p.send(second)
	p.ends(status)
	gone(p.t, tree...)
}

func TestQuitKillsAtOnce(t *testing.T) {
	t.Parallel()
	p := program(t, "run", "--grace", "1h", ignoresTERM).start()
	tree := p.pids()
	p.send(syscall.SIGQUIT)
	p.ends(131)
	gone(t, tree...)
}

// A daemon that does not answer does not delay a run that is interrupted, neither while
// the run looks for it, nor after the request. The run does not report that the daemon
// has left.
func TestASignalEndsTheWaitForTheDaemon(t *testing.T) {
	t.Parallel()
	for _, flags := range [][]string{{"-n"}, {"-b"}, {"--json"}, {"--pty"}, {"-b", "--json"}} {
		for route, told := range map[string]string{
			"GET /v1/version": "the command was not started",
			"POST /v1/jobs":   "the command was cancelled before the daemon confirmed it",
		} {
			t.Run(strings.Join(flags, " ")+" "+route, func(t *testing.T) {
				t.Parallel()
				asked := make(chan struct{}, 1)
				d := pretends(t, map[string]any{}, func(w http.ResponseWriter, r *http.Request) bool {
					if r.Method+" "+r.URL.Path != route {
						return false
					}
					asked <- struct{}{}
					_, _ = io.Copy(io.Discard, r.Body)
					<-r.Context().Done()
					return true
				})
				p := d.beside(append(append([]string{"run"}, flags...), "true")...).start()
				<-asked
				p.send(syscall.SIGINT)
				p.ends(130)
				want := told + ": interrupted by SIGINT"
				if strings.Contains(strings.Join(flags, " "), "--json") {
					var said out.ErrorObject
					require.NoError(t, json.Unmarshal([]byte(p.rest()), &said))
					require.Equal(t, messages.Error{Code: messages.Internal, Reason: "interrupted", Message: want}, said.Error)
					return
				}
				require.Equal(t, "troupe: "+want+"\n", p.err.String())
			})
		}
	}
}

// A command that ends when it is asked is one line, whatever status it chose.
func TestAPoliteCommandIsOneLine(t *testing.T) {
	t.Parallel()
	p := program(t, "run", `trap "exit 7" TERM; echo $$; sleep 600 & wait`).start()
	pid := p.line()
	p.send(syscall.SIGINT)
	p.ends(130)
	gone(t, pid)
	if got := p.err.String(); got != "troupe: the command was stopped: interrupted by SIGINT\n" {
		t.Errorf("the report is %q", got)
	}
}

func TestASignalledRunIsAnObject(t *testing.T) {
	t.Parallel()
	p := program(t, "run", "--json", "--streams", "separate", "--grace", "100ms", `trap "" TERM; echo out; echo $$ > pid; echo > up; while :; do sleep 600; done`)
	up := post(t, p.file("up"))
	p.start()
	up()
	p.send(syscall.SIGINT)
	var got struct {
		Outcome string
		Signal  string
		Cause   struct{ By, Reason, Signal string }
		Text    string
	}
	out := p.rest()
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatalf("%v in %q", err, out)
	}
	if got.Outcome != "cancelled" || got.Signal != "KILL" || got.Cause.Reason != "interrupted by SIGINT" || got.Text != "out\n" {
		t.Errorf("%+v", got)
	}
	p.ends(130)
}

// Under nohup, and in the background of a script, a signal stays ignored for troupe. For
// the command it has its default action (TestACommandHasDefaultSignals).
func TestAnIgnoredSignalStaysIgnored(t *testing.T) {
	t.Parallel()
	p := program(t).bash(`trap "" HUP INT; exec troupe run 'echo up; read x; echo $x'`)
	in, err := p.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.start()
	p.line()
	p.send(syscall.SIGHUP)
	p.send(syscall.SIGINT)
	_, _ = in.Write([]byte("still here\n"))
	if got := p.line(); got != "still here" {
		t.Errorf("got %q", got)
	}
	p.ends(0)
}

// The command is started with the signals of any command of a caller that ignores and
// blocks none, as this process may.
func TestTheCommandHasUsualSignals(t *testing.T) {
	t.Parallel()
	look := []string{"grep", "-E", "^Sig(Blk|Ign|Cgt)", "/proc/self/status"}
	want, err := exec.CommandContext(t.Context(), look[0], look[1:]...).Output()
	if err != nil {
		t.Fatal(err)
	}
	want = regexp.MustCompile("(Sig(?:Blk|Ign):\t)[0-9a-f]+").ReplaceAll(want, []byte("${1}0000000000000000"))
	p := program(t, append([]string{"run"}, look...)...).start()
	if got := p.rest(); got != string(want) {
		t.Errorf("its signals are\n%swant\n%s", got, want)
	}
	p.ends(0)
}

// While it waits for a reader that does not come, a signal ends it.
func TestASignalEndsTheWaitForAReader(t *testing.T) {
	t.Parallel()
	for name, then := range map[string]string{"of a command that runs": "exec yes", "of a command that ends": "exit 0"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := program(t, "run", "echo $$; seq 1 100000; echo > written; "+then) // more than a pipe holds
			written := post(t, p.file("written"))
			p.start()
			pid := p.line()
			written()
			p.send(syscall.SIGINT)
			p.ends(130)
			gone(t, pid)
			p.err.has(t, "troupe: the output is not being read; the rest of it was not printed\n")
		})
	}
}

// Neither does it wait for the reader of an object.
func TestASignalEndsTheWaitForAReaderOfTheObject(t *testing.T) {
	t.Parallel()
	p := program(t, "run", "--json", "head -c 51200 /dev/zero").start() // six bytes of JSON for each
	if _, err := p.out.ReadByte(); err != nil {
		t.Fatal(err)
	}
	p.send(syscall.SIGINT)
	p.ends(130)
}

// QUIT ends it there, too, and has the status that it always has.
func TestQuitEndsTheWaitForAReaderOfTheObject(t *testing.T) {
	t.Parallel()
	p := program(t, "run", "--json", "head -c 51200 /dev/zero").start()
	if _, err := p.out.ReadByte(); err != nil {
		t.Fatal(err)
	}
	p.send(syscall.SIGQUIT)
	p.ends(131)
	if got := p.err.String(); got != "" {
		t.Errorf("it said %q", got)
	}
}

// A signal that came while the rest was ended, and cost the object its reader's
// time, is the status: the object may be there in part.
func TestAnObjectThatWasCutShortIsNoSuccess(t *testing.T) {
	t.Parallel()
	p := program(t, "run", "--json", "--grace", "1h", `(trap "echo > asked" TERM; echo > up; while :; do sleep 600 & wait; done) & read x < up`)
	if err := syscall.Mkfifo(p.file("up"), 0o600); err != nil {
		t.Fatal(err)
	}
	asked := post(t, p.file("asked"))
	p.Stdout = full(t)
	p.start()
	asked()
	p.send(syscall.SIGINT)
	p.ends(130)
	p.err.has(t, "troupe: stdout is not being read: the result was not written, or only in part\n")
}

// full returns the write end of a full pipe that has no active reader.
func full(t *testing.T) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = w.Close()
		_ = r.Close()
	})
	page := make([]byte, 4096)
	err = cli.Control(w, func(fd int) {
		for {
			if _, err := syscall.Write(fd, page); err != nil {
				return // EAGAIN; the program's descriptor blocks instead
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// Messages of troupe may block on a pipe without an active reader: signals still take
// effect.
func TestASignalEndsTheWaitForAReaderOfWhatTroupeSays(t *testing.T) {
	t.Parallel()
	t.Run("after it was asked", func(t *testing.T) {
		t.Parallel()
		p := program(t, "run", "--grace", "1500ms", ignoresTERM)
		p.Stderr = full(t)
		p.start()
		tree := p.pids()
		p.send(syscall.SIGINT)
		p.ends(130)
		gone(t, tree...)
	})
	t.Run("with the second signal", func(t *testing.T) {
		t.Parallel()
		p := program(t, "run", "--no-daemon", "--promote-after", "1h", "--grace", "1h", ignoresTERM)
		p.Stderr = full(t)
		p.start().killedBy(syscall.SIGTERM, syscall.SIGTERM, 143)
	})
	t.Run("in one pipe with the output", func(t *testing.T) {
		t.Parallel()
		p := program(t, "run", "seq 1 100000; echo > written; exec yes")
		p.Stdout = full(t)
		p.Stderr = p.Stdout
		written := post(t, p.file("written"))
		p.start()
		written()
		p.send(syscall.SIGINT)
		p.ends(130)
	})
	t.Run("with an object", func(t *testing.T) {
		t.Parallel()
		p := program(t, "run", "--json", "head -c 51200 /dev/zero; echo > written; exec sleep 600")
		p.Stdout, p.Stderr = full(t), full(t)
		written := post(t, p.file("written"))
		p.start()
		written()
		p.send(syscall.SIGINT)
		p.ends(130)
	})
}
