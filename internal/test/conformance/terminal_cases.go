package conformance

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"troupe/backends"
	"troupe/messages"
)

func terminalCases() []testCase {
	const all = realOnes | terminals
	return []testCase{
		{"a terminal", aTerminal, all},
		{"a terminal has another size", resized, all},
		{"a terminal without a size", badSizes, all},
		{"keys that are signals", signalKeys, all | signals},
		{"a key that stops", stopKey, all},
		{"the end of what is typed", typedEnd, all},
		{"no typing", noTyping, all},
		{"a raw terminal", rawTerminal, all},
		{"a terminal is reset", terminalReset, all},
		{"a line that is too long", longLine, all},
		{"typing is bounded", typingBounds, all},
		{"typing is awaited", typingAwaited, all},
		{"a terminal that no process has open", reopened, all},
		{"a terminal hangs up", hangup, all | ownProcess},
		{"a terminal is held", heldTerminal, all | ownProcess},
		{"a flood and an exit at once", terminalFlood, all},
		{"a terminal is taken over", terminalAdopted, all},
	}
}

// on starts a text on a terminal of 24 by 80.
func (b *bench) on(text string) *run {
	b.Helper()
	return b.startAsIs(Program{Text: text}, func(c *backends.Command) { c.Stdio.Terminal = messages.Terminal{Rows: 24, Cols: 80} })
}

// has waits until the output contains text.
func (r *run) has(text string) *run {
	r.Helper()
	r.begun()
	for {
		got := r.read(messages.Merged)
		if strings.Contains(got, text) {
			return r
		}
		r.grown(messages.Merged, int64(len(got)))
	}
}

func (r *run) types(text string) { r.process.Do(backends.Input{Data: []byte(text)}) }

// wroteAll checks the whole output of a job that is over.
func (r *run) wroteAll(want string) {
	r.Helper()
	if got := r.read(messages.Merged); got != want {
		r.Errorf("it wrote %q, want %q", got, want)
	}
}

func aTerminal(b *bench) {
	r := b.on(`test -t 0 && test -t 1 && test -t 2 && stty size; echo "$TERM" > /dev/tty; exit 3`)
	if f := r.over(); f.Status.Code != 3 || f.OutputOpen || f.Sizes != (messages.Sizes{23, 0, 0}) {
		b.Errorf("the result is %+v", f)
	}
	r.wroteAll("24 80\r\nxterm-256color\r\n")
	r = b.startAsIs(Program{Text: `echo "$TERM"`}, func(c *backends.Command) {
		c.Stdio.Terminal, c.Env = messages.Terminal{Rows: 1, Cols: 65535}, append(c.Env, "TERM=vt100")
	})
	r.over()
	r.wroteAll("vt100\r\n")
}

func resized(b *bench) {
	r := b.on(`trap 'stty size; exit' WINCH; echo up; while :; do read -t 0.1 x; done`).has("up")
	r.process.Do(backends.Resize{Size: messages.Terminal{Rows: 50, Cols: 132}})
	r.over()
	r.wroteAll("up\r\n50 132\r\n")
}

func badSizes(b *bench) {
	for _, size := range []messages.Terminal{{Rows: 1}, {Rows: -1, Cols: 80}, {Rows: 65536, Cols: 80}} {
		err := b.place.Check(backends.Command{ID: b.id(), Text: "true", Dir: b.dir, Env: b.env(), Stdio: backends.Stdio{Terminal: size}})
		if err == nil || err.Code != messages.InvalidParams || err.Reason != "invalid_size" {
			b.Errorf("%v: %+v", size, err)
		}
	}
	r := b.on("echo up; read x").has("up")
	r.process.Do(backends.Resize{Size: messages.Terminal{Rows: 0, Cols: 80}})
	if code := refusal(r.answers(1)[0]); code != messages.InvalidParams {
		b.Errorf("answered with %s", show(r.all()))
	}
	r.types("\n")
	r.over()
}

func signalKeys(b *bench) {
	for key, signal := range map[string]string{"\x03": "INT", "\x1c": "QUIT"} {
		r := b.on("ulimit -c 0; exec cat")
		r.types("up\n")
		r.has("up\r\nup\r\n").types(key)
		if f := r.over(); f.Status.Signal != signal || f.Cause != (messages.Cause{}) {
			b.Errorf("ended with %+v", f)
		}
	}
}

func stopKey(b *bench) {
	r := b.on("set -m; cat; echo status $?; kill -9 %1")
	r.types("up\n")
	r.has("up\r\nup\r\n").types("\x1a")
	if b.Shared { // the shell stays and reports the stopped process
		if f := r.over(); f.Status.Code != 148 || f.Children == 0 && b.Reach != messages.Group {
			b.Errorf("the result is %+v", f)
		}
		return
	}
	r.has("status 148")
	r.over()
}

func typedEnd(b *bench) {
	r := b.on(`stty -echo; echo up; x=$(cat; echo .); echo "[${x%.}]"; read y; echo "$y"`).has("up")
	r.types("one\ntwo")
	r.process.Do(backends.CloseInput{})
	r.types("more\n")
	r.over()
	r.wroteAll("up\r\n[one\r\ntwo]\r\nmore\r\n")
	want := []messages.ProcessFact{messages.InputWritten{Through: 7}, messages.ControlDone{}, messages.InputWritten{Through: 12}}
	if got := r.answers(3); !slices.Equal(got, want) {
		b.Errorf("answered with %s", show(got))
	}
}

// noTyping checks that a read without typing reaches the end of input. Typed text comes
// after it, and no control is answered for it.
func noTyping(b *bench) {
	r := b.startAsIs(Program{Text: `cat; echo end $?; read y; echo "[$y]"`}, func(c *backends.Command) {
		c.Stdio.Terminal, c.Stdio.Ended = messages.Terminal{Rows: 24, Cols: 80}, true
	}).has("end 0")
	r.types("more\n")
	r.over()
	r.wroteAll("end 0\r\nmore\r\n[more]\r\n")
	if got := r.answers(1); !slices.Equal(got, []messages.ProcessFact{messages.InputWritten{Through: 5}}) {
		b.Errorf("answered with %s", show(got))
	}
}

// rawTerminal checks that a raw terminal changes no byte in either direction.
func rawTerminal(b *bench) {
	var all []byte
	for i := range 256 {
		all = append(all, byte(i))
	}
	r := b.on(`stty raw -echo; printf up; exec head -c 512`).has("up")
	r.types(string(all))
	r.types(string(all))
	r.over()
	r.wroteAll("up" + string(all) + string(all))
}

func terminalReset(b *bench) {
	r := b.on("stty raw -echo; printf up; read x; stty -a").has("up")
	r.process.Do(backends.ResetTerminal{})
	r.types("\n")
	r.over()
	text := r.read(messages.Merged)
	for _, mode := range []string{" icanon ", " echo ", " opost "} {
		if !strings.Contains(strings.ReplaceAll(text, "\r\n", " "), mode) {
			b.Errorf("no%sin %q", mode, text)
		}
	}
}

func longLine(b *bench) {
	r := b.on("stty -echo; echo up; read -r x; echo ${#x}").has("up")
	r.types(strings.Repeat("x", 5000) + "\n")
	if code := refusal(r.answers(1)[0]); code != messages.LineTooLong {
		b.Errorf("answered with %s", show(r.all()))
	}
	r.types(strings.Repeat("x", 4095) + "\n")
	r.over()
	r.wroteAll("up\r\n4095\r\n")
}

func typingBounds(b *bench) {
	r := b.on("stty raw -echo; printf up; head -c 500000 | wc -c").has("up")
	r.types(strings.Repeat("x", messages.MaxInput+1))
	if code := refusal(r.answers(1)[0]); code != messages.TooLarge {
		b.Errorf("answered with %s", show(r.all()))
	}
	for i := range 5 {
		r.types(strings.Repeat("x", 100_000))
		r.answers(2 + i)
	}
	r.over()
	r.wroteAll("up500000\n")
}

// typingAwaited checks that a job that waits for typing is reported, and whether the
// typing is shown. A job that does something else is not.
func typingAwaited(b *bench) {
	r := b.on("read x; read -s y; echo $x $y; sleep 60")
	r.process.Do(backends.CheckInput{For: time.Minute})
	if code := refusal(r.answers(1)[0]); code == messages.Unsupported {
		b.Skip("this machine does not show what a process waits for")
	}
	said := func(want ...messages.InputWaiting) {
		b.Helper()
		var got []messages.InputWaiting
		r.until("whether it waits", func(heard []messages.ProcessFact) bool {
			got = nil
			for _, f := range heard {
				if f, ok := f.(messages.InputWaiting); ok {
					got = append(got, f)
				}
			}
			return len(got) >= len(want)
		})
		if !slices.Equal(got, want) {
			b.Errorf("said %+v, want %+v", got, want)
		}
	}
	shown, hidden, none := messages.InputWaiting{Waiting: true}, messages.InputWaiting{Waiting: true, Secret: true}, messages.InputWaiting{}
	said(shown)
	r.types("one\n")
	said(shown, none, hidden)
	r.types("two\n")
	r.has("one two")
	r.process.Do(backends.CheckInput{For: time.Minute})
	r.answers(4)
	said(shown, none, hidden, none)
	r.stop(messages.ByClient, 0)
	r.over()
}

// reopened checks that a terminal that no process has open is not at its end.
func reopened(b *bench) {
	r := b.on("echo one; exec <&- >&- 2>&-; sleep 0.2; echo two > /dev/tty; exit 5")
	if f := r.over(); f.Status.Code != 5 || f.Sizes[messages.Merged] != 10 {
		b.Errorf("the result is %+v", f)
	}
	r.wroteAll("one\r\ntwo\r\n")
}

// hangup checks that leftovers on a terminal get SIGHUP when their job exits, unless
// they ignore it.
func hangup(b *bench) {
	r := b.on("sleep 60 & echo now")
	if f := r.over(); f.Status.Code != 0 {
		b.Errorf("the result is %+v", f)
	}
	r = b.on("nohup sh -c 'echo > up; until [ -e go ]; do sleep 0.05; done; echo later > out' & until [ -e up ]; do sleep 0.05; done; echo now")
	if f := r.result(); f.Status.Code != 0 || f.Children == 0 && b.Reach != messages.Group {
		b.Errorf("the result is %+v", f)
	}
	if err := os.WriteFile(filepath.Join(b.dir, "go"), nil, 0o600); err != nil {
		b.Fatal(err)
	}
	r.over()
	if text, err := os.ReadFile(filepath.Join(b.dir, "out")); string(text) != "later\n" {
		b.Errorf("the process that ignores SIGHUP wrote %q, %v", text, err)
	}
}

func heldTerminal(b *bench) {
	r := b.on("trap '' HUP; sleep 60 & echo now")
	if f := r.result(); !f.OutputOpen || f.Sizes[messages.Merged] != 5 {
		b.Errorf("the result is %+v", f)
	}
	b.closed(b.place, time.Minute)
	r.over()
	b.place = b.open()
}

// terminalFlood checks that every byte arrives of a job that writes at full speed and
// exits at once.
func terminalFlood(b *bench) {
	const size = 8 << 20
	for range 5 {
		r := b.on("stty -opost; head -c 8388608 /dev/zero")
		f := r.over()
		log, err := r.process.Output(messages.Merged)
		if err != nil {
			b.Fatal(err)
		}
		n, err := io.Copy(zeros{}, io.NewSectionReader(log, 0, log.State().Size))
		if n != size || err != nil || f.Sizes[messages.Merged] != size {
			b.Errorf("%d bytes, %v, the result is %+v", n, err, f)
		}
		log.Close()
	}
}

// zeros is a writer that accepts only NULs.
type zeros struct{}

func (zeros) Write(p []byte) (int, error) {
	for i, c := range p {
		if c != 0 {
			return i, io.ErrUnexpectedEOF
		}
	}
	return len(p), nil
}

func terminalAdopted(b *bench) {
	first := b.on("stty -echo; echo up; read x; stty size; echo $x").has("up")
	first.process.Do(backends.Resize{Size: messages.Terminal{Rows: 11, Cols: 22}})
	first.answers(1)
	second, err := b.adopt(b.place, first.command.ID)
	if err != nil {
		b.Fatal(err)
	}
	first.forbidMore()
	second.types("hi\n")
	second.over()
	second.wroteAll("up\r\n11 22\r\nhi\r\n")
}
