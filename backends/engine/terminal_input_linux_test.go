package engine

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"troupe/backends"
	"troupe/messages"
)

// The key for the end of the input ends it, once: at the beginning of a line, and
// behind one that was begun; and more may follow.
func TestTerminalInputEnds(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct{ typed, want string }{
		{"", "end 0\nnext\n"},
		{"one\n", "one\nend 4\nnext\n"},
		{"one\ntwo", "one\ntwoend 7\nnext\n"},
		{"one\r", "one\nend 4\nnext\n"},
		{"one\x15", "end 0\nnext\n"},            // the line was killed
		{"one\ntw\x04", "one\ntwend 6\nnext\n"}, // its beginning was handed over by the typist
	} {
		e := r.onTerminal(`stty -echo -opost; echo up; x=$(cat; echo .); x=${x%.}; echo "${x}end ${#x}"; read y; echo $y`)
		r.says(e, "up")
		if c.typed != "" {
			e.types(c.typed)
		}
		e.proc.Do(backends.CloseInput{})
		e.types("next\n")
		e.over()
		if got := r.output(e, messages.Merged); got != "up\n"+c.want {
			t.Errorf("%q: %q", c.typed, got)
		}
		if a := answers(e); a[len(a)-2] != "done" || a[len(a)-1] != fmt.Sprint("written ", len(c.typed)+5) {
			t.Errorf("%q: %v", c.typed, a)
		}
	}
}

// Where keys are read one by one the end is one key, too; where there is none it is
// refused.
func TestTerminalInputEndsWithoutLines(t *testing.T) {
	r := newRig(t)
	e := r.onTerminal("stty raw -echo; printf up; head -c 5 | od -An -tx1")
	r.says(e, "up")
	e.types("ab")
	e.proc.Do(backends.CloseInput{})
	e.types("\x00c")
	e.over()
	if got := r.output(e, messages.Merged); !strings.Contains(got, "61 62 04 00 63") {
		t.Errorf("%q", got)
	}
	e = r.onTerminal("stty eof undef; echo up; read x; echo got $x")
	r.says(e, "up")
	e.proc.Do(backends.CloseInput{})
	e.types("x\n")
	e.over()
	if got := answers(e); !slices.Equal(got, []string{"refused unsupported", "written 2"}) {
		t.Errorf("%v", got)
	}
}

// A line that the terminal would cut is refused, and nothing of it is typed; the
// longest that it takes is whole, in one piece or in many.
func TestBadInputLineIsTooLong(t *testing.T) {
	r := newRig(t)
	line := strings.Repeat("x", maxLine)
	e := r.onTerminal("stty -echo; echo up; while read -r x; do echo ${#x}; done")
	r.says(e, "up")
	e.types(line + "\n")
	e.types(line + "y\n") // refused
	e.types("a\n" + line + "y")
	e.types(line[:4000])
	e.types(line[:96]) // the line would have 4096
	e.types(line[:95] + "\n")
	e.types("ab\n" + line + "\n")
	e.proc.Do(backends.Input{Data: []byte(line + "yz\n"), Raw: true})
	e.types("last\n")
	r.says(e, "\n4\r\n")
	e.proc.Do(backends.CloseInput{})
	e.over()
	if got := r.output(e, messages.Merged); got != "up\r\n4095\r\n4095\r\n2\r\n4095\r\n4095\r\n4\r\n" {
		t.Errorf("%q", got)
	}
	want := []string{
		"written 4096", "refused line_too_long", "refused line_too_long", "written 8096", "refused line_too_long",
		"written 8192", "written 12291", "written 16389", "written 16394", "done",
	}
	if got := answers(e); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	e = r.onTerminal("stty raw -echo; printf up; head -c 100000 | cksum")
	r.says(e, "up")
	e.types(strings.Repeat("x", 100_000)) // no line is collected
	e.over()
	if got := answers(e); !slices.Equal(got, []string{"written 100000"}) {
		t.Errorf("%v", got)
	}
}

// A job that does not read has its input wait, in order, up to a bound; the output goes
// on meanwhile.
func TestBadInputOfATerminalIsBounded(t *testing.T) {
	r := newRig(t)
	g := newGate(t)
	e := r.onTerminal("stty raw -echo; printf up; read x < " + g.path + "; head -c 250000 | cksum")
	r.says(e, "up")
	big := bytes.Repeat([]byte("0123456789abcde\n"), messages.MaxInput/16)
	for _, n := range []int{200_000, 100_000, messages.MaxInput + 1, 50_000} {
		e.proc.Do(backends.Input{Data: append(big, 'x')[:n]})
	}
	g.open()
	e.over()
	want := []string{"written 200000", "refused resource_exhausted", "refused too_large", "written 250000"}
	if got := answers(e); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if got := r.output(e, messages.Merged); !strings.Contains(got, " 250000") {
		t.Errorf("%q", got)
	}
}

// Much that is typed and echoed deadlocks nobody: the output is drained. (The
// kernel drops some of the echo itself, of what is typed faster than it can show.)
func TestTerminalEchoesMuch(t *testing.T) {
	r := newRig(t)
	e := r.onTerminal("wc -c")
	lines := strings.Repeat(strings.Repeat("x", 79)+"\n", 3000)
	e.types(lines)
	e.proc.Do(backends.CloseInput{})
	e.over()
	if got := r.output(e, messages.Merged); !strings.HasSuffix(got, "240000\r\n") || len(got) < 10_000 {
		t.Errorf("%d bytes, %q", len(got), got[max(0, len(got)-20):])
	}
}

// What the job did not take is refused with its end, also while it waits for room.
func TestBadInputThatATerminalDoesNotTake(t *testing.T) {
	r := newRig(t)
	e := r.onTerminal("stty raw -echo; printf up; exec sleep 100")
	r.says(e, "up")
	e.types(strings.Repeat("x", 200_000))
	e.types("more")
	e.proc.Do(backends.CloseInput{})
	until(t, func() bool { // it waits for room
		j := r.e.find(e.id)
		j.mu.Lock()
		defer j.mu.Unlock()
		j.input.writing.Lock()
		defer j.input.writing.Unlock()
		return j.input.current != nil && j.input.current.taken > 0 && len(j.input.queue) == 2
	})
	e.proc.Stop(client(), 0)
	e.over()
	if got := answers(e); !slices.Equal(got, []string{"refused job_finished", "refused job_finished", "refused job_finished"}) {
		t.Errorf("%v", got)
	}
	e = r.onTerminal("exit 0")
	e.over()
	e.types("x")
}

func TestLongest(t *testing.T) {
	modes := &unix.Termios{Iflag: unix.ICRNL, Lflag: unix.ISIG | unix.ICANON}
	modes.Cc[unix.VEOF], modes.Cc[unix.VINTR], modes.Cc[unix.VKILL] = 4, 3, 21
	for _, c := range []struct {
		before int
		p      string
		want   int
	}{
		{0, "", 0},
		{7, "", 7},
		{0, "abc", 3},
		{2, "abc\nx", 5},
		{2, "\nabc", 3},
		{1, "a\rbcd", 3},
		{0, "abc\x04d", 3},
		{5, "\x03ab", 5},
		{0, "ab\x15abc", 3},
		{0, "\x00\x00", 2},
	} {
		if got := (&terminal{line: c.before}).longest([]byte(c.p), modes); got != c.want {
			t.Errorf("%d and %q: %d, want %d", c.before, c.p, got, c.want)
		}
	}
	modes.Iflag, modes.Lflag = 0, unix.ICANON
	if got := (&terminal{}).longest([]byte("a\rb\x03c"), modes); got != 5 {
		t.Errorf("without ICRNL and ISIG: %d", got)
	}
}

// terminalDriver runs the commands of a live shell on a terminal.
const terminalDriver = `printf '\0ready 0 %s\0' "$PWD" >>'@DIR@/st'
while IFS= read -r n <'@DIR@/ctl'; do
  . '@DIR@/text'
  s=$?
  printf '\033]133;D;%s;%s\a' "$s" "${n%?}"
  printf '\0%s %s %s\0' "${n%?}" "$s" "$PWD" >>'@DIR@/st'
done
`

// What is typed for a command as it starts is not dropped with the rest of the input of the
// command before.
func TestFaultTypedAsTheCommandStarts(t *testing.T) {
	sys := &dropping{}
	r := newRig(t, func(o *Options) { o.Sys, o.ScriptDir = sys, o.Store.(interface{ Dir() (string, error) }).Dir })
	size := messages.Terminal{Rows: 24, Cols: 80}
	sh, _ := r.shell(func(s *backends.Spec) { s.Live.Files["driver"], s.Stdio.Terminal = terminalDriver, size })
	c := r.in(sh.ID, "read x; echo got $x")
	c.Stdio.Terminal = size
	early := make(chan *ear, 1)
	sys.first = sync.OnceFunc(func() {
		e := <-early
		e.types("early\n")
		until(t, func() bool { return !r.controlled(e.id) }) // if it is not put off, it is typed now
	})
	e := r.start(c)
	early <- e
	e.over()
	if got := r.output(e, messages.Merged); !strings.HasSuffix(got, "got early\r\n") {
		t.Errorf("%q", got)
	}
}

// controlled reports whether a control of a job is being performed.
func (r *rig) controlled(id messages.UID) bool {
	j := r.e.find(id)
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.controls.busy
}

// dropping calls first before it drops input.
type dropping struct {
	kernel
	first func()
}

func (d *dropping) FlushInput(master int) error {
	d.first()
	return d.kernel.FlushInput(master)
}
