package main

import (
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/host"
	"troupe/internal/test/need"
	"troupe/messages"
)

// asksFor changes its terminal as each line of a file says, and prints as hexadecimal
// numbers so many bytes that it is sent then.
const asksFor = `stty raw -echo; n=0; while read -r bytes mode; do n=$((n+1)); printf "$mode"; printf 'ready%d:' $n; ` +
	`head -c $bytes < /dev/tty | od -An -v -tx1 | tr -d ' \n'; printf ';'; done < modes`

// Keys and pasted text are encoded as the last byte of the program's output requests.
// Keys that have no distinct encoding are refused, and nothing is typed.
func TestKeysAreSentAsTheProgramAsksForThem(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	steps := []struct{ mode, flag, text, want string }{
		{"", "--keys", "{up}{kpenter}é<C-Left>", "\x1b[A\ré\x1b[1;5D"},
		{`\033[?1h`, "--keys", "{up}{home}<C-Left>", "\x1bOA\x1bOH\x1b[1;5D"},
		{`\033=`, "--keys", "{up}{kpenter}", "\x1bOA\x1bOM"},
		{`\033[?1l\033>`, "--keys", "{up}{kpenter}\n", "\x1b[A\r\r"},
		{"", "--keys", "<C-c>{tab}{backspace}", "\x03\t\x7f"},
		{"", "--paste", "one\ntwo{up}", "one\rtwo{up}"},
		{`\033[?2004h`, "--paste", "one\ntwo", "\x1b[200~one\rtwo\x1b[201~"},
		{`\033[?1049h\033[>1u`, "--keys", "{ctrl+enter}", "\x1b[13;5u"},
		{`\033[?1049l`, "--keys", "{up}", "\x1b[A"},
		{"", "--", "a line", "a line\r"},
	}
	var modes strings.Builder
	for _, s := range steps {
		fmt.Fprintf(&modes, "%d %s\n", len(s.want), s.mode)
	}
	d.writes("modes", modes.String())
	d.beside("run", "-b", "--pty", "--name", "asks", "--shell", "bash", asksFor).start().ends(0)
	for i, s := range steps {
		ready := fmt.Sprintf("ready%d:", i+1)
		d.beside("wait", "--match", ready, "asks").start().ends(0)
		if i == 0 {
			p := d.beside("write", "asks", "--keys", "x{ctrl+enter}").start()
			p.ends(2)
			p.err.has(t, "kitty keyboard protocol")
		}
		d.beside("write", "asks", s.flag, s.text).start().ends(0)
		d.beside("wait", "--timeout", "20s", "--match", ready+hex.EncodeToString([]byte(s.want))+";", "asks").start().ends(0)
		if t.Failed() {
			logs := d.beside("logs", "asks").start()
			t.Fatalf("step %d: it has printed %q", i+1, logs.rest())
		}
	}
	d.beside("wait", "asks").start().ends(0)
	d.beside("write", "asks", "--keys", "{up}").start().ends(1)
}

// writes makes a file in the directory of a process.
func (p *process) writes(name, text string) {
	p.t.Helper()
	require.NoError(p.t, os.WriteFile(p.file(name), []byte(text), 0o600))
}

// reads is what is in one.
func (p *process) reads(name string) string {
	p.t.Helper()
	b, err := os.ReadFile(p.file(name))
	require.NoError(p.t, err)
	return string(b)
}

// keys types them at a job.
func (m *mortal) keys(id messages.JobID, keys string) {
	m.t.Helper()
	_, err := host.Ask(m.t.Context(), m.client.Host(), messages.WriteInput{Job: id, Keys: keys})
	require.NoError(m.t, err)
}

// screenIs waits until the screen of a job is right, which no event tells.
func (m *mortal) screenIs(id messages.JobID, right func(lines []string) bool) {
	m.t.Helper()
	var lines []string
	defer func() {
		if m.t.Failed() {
			m.t.Logf("it shows\n%s", strings.Join(lines, "\n"))
		}
	}()
	settles(m.t, "screens that are wrong", 0, func() int {
		s, err := host.Ask(m.t.Context(), m.client.Host(), messages.ReadScreen{Job: id})
		require.NoError(m.t, err)
		if lines = s.Lines; right(lines) {
			return 0
		}
		return 1
	})
}

// screenHas waits for a text on it.
func (m *mortal) screenHas(id messages.JobID, text string) {
	m.t.Helper()
	m.screenIs(id, func(lines []string) bool { return strings.Contains("\n"+strings.Join(lines, "\n"), text) })
}

// Keys do in programs what they do at a keyboard.
func TestKeysInPrograms(t *testing.T) {
	t.Parallel()
	m := begins(t)
	size := messages.Terminal{Rows: 10, Cols: 40}
	t.Run("less", func(t *testing.T) {
		need.Program(t, "less")
		job := m.run(messages.RunCommand{Program: messages.Program{Shell: "bash", Text: "seq 100 > numbers; exec less numbers"}, Dir: m.dir, Env: messages.Env{Set: []string{"TERM=xterm", "LESS="}}, Stdio: messages.Stdio{Terminal: size}})
		m.screenHas(job.ID, "numbers")
		m.keys(job.ID, "{down}{down}{down}{up}")
		m.screenIs(job.ID, func(lines []string) bool { return lines[0] == "3" })
		m.keys(job.ID, "{pagedown}")
		m.screenIs(job.ID, func(lines []string) bool { return lines[0] == "12" })
		m.keys(job.ID, "q")
		require.Equal(t, 0, m.awaitEnd(job.ID).ExitCode())
	})
	t.Run("vim", func(t *testing.T) {
		need.Program(t, "vim")
		job := m.run(messages.RunCommand{Program: messages.Program{Shell: "bash", Text: "exec vim -u NONE -i NONE -N typed"}, Dir: m.dir, Env: messages.Env{Set: []string{"TERM=xterm"}}, Stdio: messages.Stdio{Terminal: size}})
		m.screenHas(job.ID, `"typed"`)
		m.keys(job.ID, "ione{enter}two{up}{home}<lt>{down}{end}>{esc}:wq{enter}")
		require.Equal(t, 0, m.awaitEnd(job.ID).ExitCode())
		require.Equal(t, "<one\ntwo>\n", m.reads("typed"))
	})
	t.Run("bash", func(t *testing.T) {
		m.writes("rc", "PS1='ready> '\n")
		m.writes("inputrc", "\"\\e[1;5D\": backward-word\nset enable-bracketed-paste on\n")
		job := m.run(messages.RunCommand{
			Program: messages.Program{Shell: "bash", Text: "exec bash --noprofile --rcfile rc -i"}, Dir: m.dir, Env: messages.Env{Set: []string{"TERM=xterm", "INPUTRC=" + m.file("inputrc"), "HISTFILE="}}, Stdio: messages.Stdio{Terminal: size},
		})
		m.screenHas(job.ID, "ready>")
		m.keys(job.ID, "echo one two<C-Left>X{enter}")
		m.screenHas(job.ID, "\none Xtwo")
		// A shell may miss Ctrl-C while it starts a program: the text is from tail itself.
		m.writes("text", "begun\n")
		m.keys(job.ID, "tail -f text{enter}")
		m.screenHas(job.ID, "\nbegun")
		m.keys(job.ID, "<C-c>{up}{up}{enter}") // the last line but one again
		// bash asks for brackets around pasted text as it shows a prompt, no sooner.
		m.screenIs(job.ID, func(lines []string) bool {
			return strings.Count(strings.Join(lines, "\n"), "\none Xtwo\nready>") == 2
		})
		_, err := host.Ask(t.Context(), m.client.Host(), messages.WriteInput{Job: job.ID, Paste: "echo a\necho b\n"})
		require.NoError(t, err)
		m.screenHas(job.ID, "echo a\necho b") // and has run none of it
		m.keys(job.ID, "{enter}")
		m.screenHas(job.ID, "\na\nb")
		m.keys(job.ID, "exit 3{enter}")
		require.Equal(t, 3, m.awaitEnd(job.ID).ExitCode())
	})
}
