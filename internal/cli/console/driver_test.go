package console

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"troupe/host"
	"troupe/internal/cli"
	"troupe/internal/cli/config"
	"troupe/internal/dialect/omp"
	"troupe/internal/node"
	"troupe/internal/test/dialect"
	"troupe/messages"
)

// desk is a driver over a real node, and the messages that it has sent.
type desk struct {
	*driver
	t    *testing.T
	node *node.Node
	told chan tea.Msg
	kept []tea.Msg // not yet wanted
}

func newDesk(t *testing.T, flags *Flags) *desk {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	require.NoError(t, err)
	k := &desk{t: t, node: dialecttest.Node(t), told: make(chan tea.Msg, 4096)}
	ctx, cancel := context.WithCancel(context.Background())
	to, err := newTarget(flags.Send, dir)
	require.NoError(t, err)
	k.driver = &driver{
		ctx: ctx, host: k.node.DialectHost(), scope: "console/test", target: to, dir: dir, beside: &sync.WaitGroup{}, log: slog.New(slog.DiscardHandler),
		env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "SHELL=/bin/bash"}, cancels: map[int]func(){}, tell: func(m tea.Msg) { k.told <- m },
	}
	end, err := k.openSessions(&cli.Main{In: null, Out: null, Err: null}, flags, &config.Settings{}, "test")
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, end(context.Background()))
		cancel()
		k.beside.Wait()
		_ = null.Close()
	})
	return k
}

// begins runs the effect and sends its message to the others.
func (k *desk) begins(cmd tea.Cmd) { k.beside.Go(func() { k.told <- cmd() }) }

// hears waits for a message of a type that is as wanted. Others are kept for later calls.
func hears[T any](k *desk, wanted func(T) bool) T {
	k.t.Helper()
	for i := 0; ; i++ {
		if i == len(k.kept) {
			k.kept = append(k.kept, <-k.told)
		}
		if m, is := k.kept[i].(T); is && wanted(m) {
			k.kept = slices.Delete(k.kept, i, i+1)
			return m
		}
	}
}

func anyOf[T any](T) bool { return true }

func TestDriverRunsABang(t *testing.T) {
	k := newDesk(t, &Flags{})
	require.NoError(t, unix.Mkfifo(filepath.Join(k.dir, "cue"), 0o600))
	k.begins(k.Bang(1, `printf 'a\033[31m\n'; echo b >&2; cat cue; exit 3`))
	job := hears(k, anyOf[knownMsg]).job
	hears(k, func(m outputMsg) bool { return strings.Contains(m.text, "a\n") && strings.Contains(m.text, "b\n") })
	promoted := k.Promote(1)().(promotedMsg)
	require.NoError(t, promoted.err)
	_, err := host.Ask(t.Context(), k.host, messages.ChangeDeadline{Job: job, Extend: time.Second})
	require.ErrorIs(t, err, &messages.Error{Code: messages.InvalidParams}, "it has no deadline to extend: no one waits for it")
	require.NoError(t, os.WriteFile(filepath.Join(k.dir, "cue"), []byte("over\n"), 0))
	end := hears(k, anyOf[bangEndedMsg])
	require.NoError(t, end.err)
	require.Equal(t, job, end.job)
	require.Equal(t, 3, *end.result.ExitCode)
	require.ElementsMatch(t, []string{"a", "b", "over"}, strings.Fields(end.text), "no control sequences")
	require.True(t, strings.HasSuffix(end.text, "over\n"))
	whole := k.Load(1, job)().(loadedMsg)
	require.NoError(t, whole.err)
	require.Equal(t, end.text, whole.text)

	k.begins(k.Bang(2, "echo begun; sleep 600"))
	hears(k, func(m outputMsg) bool { return m.id == 2 && m.text == "begun\n" })
	k.Cancel(2)()
	end = hears(k, anyOf[bangEndedMsg])
	require.NoError(t, end.err)
	require.Nil(t, end.result.ExitCode)
	require.Equal(t, "begun\n", end.text)

	end = k.Bang(3, "cd /nowhere")().(bangEndedMsg)
	require.Equal(t, 1, *end.result.ExitCode)
}

func TestR291_DriverShowsATerminal(t *testing.T) {
	k := newDesk(t, &Flags{})
	require.True(t, k.terminal)
	k.begins(k.Tool(1, `stty -echo; echo "$TERM begun"; read -r line; echo "got $line"; read -r line; echo "pasted $line"; sleep 600`))
	hears(k, func(m overlayMsg) bool {
		return strings.Contains(strings.Join(m.frame.Rows, "\n"), "xterm-256color begun")
	})
	for _, typed := range []string{"h", "\x1b[105u", "\r"} {
		require.True(t, k.Key([]byte(typed)))
	}
	hears(k, func(m overlayMsg) bool { return strings.Contains(strings.Join(m.frame.Rows, "\n"), "got hi") })
	require.True(t, k.Paste("text\n"))
	hears(k, func(m overlayMsg) bool { return strings.Contains(strings.Join(m.frame.Rows, "\n"), "pasted text") })
	require.True(t, k.Resize(messages.Terminal{Rows: 34, Cols: 100}))
	require.True(t, k.Key([]byte("\x1b[27u")))
	last := hears(k, func(m overlayMsg) bool { return !m.frame.Running })
	require.Equal(t, "killed", last.frame.Badge)
	hears(k, anyOf[closedMsg])
	end := hears(k, anyOf[toolEndedMsg])
	require.NoError(t, end.err)
	require.True(t, end.result.IsError)
	require.True(t, k.Key([]byte("x")), "a late key has no effect")
}

func TestR122_DriverSendsTheProgressOfJobs(t *testing.T) {
	k := newDesk(t, &Flags{NoPTY: true})
	k.terminal = false
	k.env = append(k.env, omp.NoPTYVar+"=1")
	require.NoError(t, unix.Mkfifo(filepath.Join(k.dir, "cue"), 0o600))
	off := false
	k.begins(func() tea.Msg {
		r, err := k.tool.Bash(k.ctx, omp.Params{Command: "echo begun; cat cue", Pty: &off}, nil)
		return toolEndedMsg{1, r, err}
	})
	var asked promotedMsg
	for { // until the node knows the job
		list, err := host.Ask(t.Context(), k.node.Host(), messages.ListJobs{Finished: true})
		require.NoError(t, err)
		if len(list.Jobs) == 1 && list.Jobs[0].State == messages.Running {
			asked = k.Promote(1)().(promotedMsg)
			break
		}
	}
	require.NoError(t, asked.err)
	started := hears(k, anyOf[toolEndedMsg])
	require.Contains(t, started.result.Text, "Background job bg_1 started")
	require.NoError(t, os.WriteFile(filepath.Join(k.dir, "cue"), []byte("over\n"), 0))
	hears(k, func(m progressMsg) bool {
		return m.job == "bg_1" && m.result.Details.(*omp.Details).Async.State == "completed"
	})
	require.Contains(t, hears(k, anyOf[noticeMsg]).delivery.Text, "begun\nover")
}

func TestDriverSendsToACommand(t *testing.T) {
	k := newDesk(t, &Flags{Send: "| cat >got; echo thanks; test ! -e full"})
	long := strings.Repeat("é", 1<<19)
	sent := k.Send(long)().(sentMsg)
	require.NoError(t, sent.err)
	require.Equal(t, "thanks", sent.reply)
	got, err := os.ReadFile(filepath.Join(k.dir, "got"))
	require.NoError(t, err)
	require.Equal(t, long, string(got), "all of it, and no more")
	require.NoError(t, os.WriteFile(filepath.Join(k.dir, "full"), nil, 0o600))
	require.EqualError(t, k.Send("x")().(sentMsg).err, "exited with code 1: thanks")

	k.target.command = "exit 0"
	require.NoError(t, k.Send(long)().(sentMsg).err, "it needs no more")
	k.target.command = "echo taken >taken; cat >/dev/null; sleep 600"
	k.begins(k.Send("x"))
	for { // until it runs
		if _, err := os.Stat(filepath.Join(k.dir, "taken")); err == nil {
			break
		}
	}
	k.CancelSend()
	require.ErrorIs(t, hears(k, anyOf[sentMsg]).err, context.Canceled)
}
