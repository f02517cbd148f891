package omp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"troupe/host"
	"troupe/internal/artifact"
	"troupe/internal/dialect"
	"troupe/internal/test/dialect"
	"troupe/messages"
)

// pieces collects what a feed writes, and checks that each piece is whole.
type pieces struct {
	t    *testing.T
	text strings.Builder
	n    int
	seen func(all string)
}

func (p *pieces) Write(b []byte) (int, error) {
	if !utf8.Valid(b) || len(b) > 192<<10 || len(b) == 0 {
		p.t.Errorf("a piece of %d bytes: %.100q", len(b), b)
	}
	p.n++
	p.text.Write(b)
	if p.seen != nil {
		p.seen(p.text.String())
	}
	return len(b), nil
}

// The text is pi's, whatever the pieces of the output are: without escape sequences, control
// characters and CR, and no character is split.
func TestR082_AFeedCleansAsPi(t *testing.T) {
	s := newRig(t).Session
	for in, want := range map[string]string{
		"ERROR: file.py:1\n":                                      "ERROR: file.py:1\n",
		"\x1b[31mERROR: file.py:1\x1b[0m\n":                       "ERROR: file.py:1\n",
		"\x1b[38:2:255:0:0mred\x1b[0m":                            "red",
		"\x1b]8;;https://example.com\x07link\x1b]8;;\a":           "link",
		"\x1b]8;;https://a.b\x1b\\link\x1b]8;;\x1b\\":             "link",
		"\x1b[32mשלום € 😀\x1b[0m\r\n\x00":                         "שלום € 😀\n",
		"\x1b(0x\x1bcok":                                          "xok",
		"10%\r20%\r\n":                                            "10%20%\n",
		"visible\x1b":                                             "visible",
		"visible\x1b[31":                                          "visible",
		"visible\x1b]8;;unfinished":                               "visible",
		"a\xffb\xe2\x82":                                          "a\uFFFDb\uFFFD\uFFFD",
		"\x01\x02\uFFF9tab\tend\x7f":                              "tab\tend",
		"start\x1b]8;;" + strings.Repeat("x", 8000) + "\x1b\\end": "startend",
	} {
		for split := range len(in) + 1 {
			if len(in) > 100 && split%997 > 1 {
				continue
			}
			to := &pieces{t: t}
			feed := s.newOutputFeed(to)
			for _, part := range []string{in[:split], in[split:]} {
				_, err := io.WriteString(feed, part)
				require.NoError(t, err)
			}
			got, err := feed.finish(t.Context(), s.options.Host, messages.Record{})
			require.NoError(t, err)
			require.Equal(t, want, to.text.String(), "%q split at %d", in, split)
			require.Equal(t, want, got.Text)
		}
	}
}

// A command of the user runs as it is written, in the live shell of the session, off a
// terminal. What it wrote comes while it runs.
func TestR144_TheUsersCommandGoesToTheShellAsItIs(t *testing.T) {
	r := newRig(t, settings(func(s *Settings) { s.Interceptor = true }))
	to := &pieces{t: t}
	run := func(command string) BashResult {
		to = &pieces{t: t}
		result, err := r.ExecuteTo(context.Background(), command, to)
		require.NoError(t, err)
		require.Equal(t, result.Output, to.text.String())
		return result
	}
	require.Equal(t, "1\n2\n", run("seq 5 | head -n 2").Output)
	require.Equal(t, "seq 5 | head -n 2", r.ran()[0].Command)
	require.Equal(t, 300*time.Second, r.ran()[0].Timeout, "R-159")
	require.Equal(t, 1, *run("test -t 1 || test -t 0").ExitCode)
	require.Equal(t, 0, *run("cd / && X=1; f() { echo f; }").ExitCode)
	require.Equal(t, r.dir+" 1 f\n", run("echo $PWD $X $(f)").Output, "each begins in the directory of the session")
	require.Equal(t, "local://x\n", run("echo local://x").Output)
	require.NoError(t, os.WriteFile(r.dir+"/f", []byte("kept\n"), 0o600))
	require.Equal(t, "kept\n", run("cat "+r.dir+"/f").Output, "no rule stops a user")
	_, command := passing(r)
	require.Contains(t, run(command).Output, "=== RUN", "nothing rewrites the output")

	release := make(chan struct{})
	first := &pieces{t: t, seen: func(all string) {
		if all == "first\n" {
			close(release)
		}
	}}
	open := dialecttest.NewGate(t)
	go func() {
		<-release
		open.Open()
	}()
	result, err := r.ExecuteTo(context.Background(), "echo first; "+open.Wait()+"; echo second", first)
	require.NoError(t, err)
	require.Equal(t, "first\nsecond\n", result.Output)
	require.GreaterOrEqual(t, first.n, 2)
}

// The whole text of a long output comes in pieces and is in a file, and the result has its end
//
func TestR148_ALongOutputIsInAFile(t *testing.T) {
	r := newRig(t)
	to := &pieces{t: t}
	result, err := r.ExecuteTo(context.Background(), `seq 200000; printf '\033[31mred\r\n'`, to)
	require.NoError(t, err)
	all := to.text.String()
	require.True(t, strings.HasSuffix(all, "\n200000\nred\n"))
	require.True(t, result.Truncated)
	require.Equal(t, []int64{int64(len(all)), 200002, 51200}, []int64{result.TotalBytes, result.TotalLines, result.OutputBytes})
	require.Equal(t, all[len(all)-51200:], result.Output)
	text, err := os.ReadFile(result.FullOutputPath)
	require.NoError(t, err)
	require.True(t, string(text) == all)
	require.Equal(t, r.file(result.ArtifactID), all)

	small, err := r.ExecuteTo(context.Background(), "echo a", &pieces{t: t})
	require.NoError(t, err)
	require.Empty(t, small.FullOutputPath)
	require.Less(t, to.n, 200, "small writes are joined")
}

// A range that was not kept has a line in its place.
func TestAFeedSaysWhatWasNotKept(t *testing.T) {
	r := newRig(t, settings(func(s *Settings) { s.Quota = messages.Quota{Bytes: 64 << 10, Policy: "keep_head"} }))
	to := &pieces{t: t}
	result, err := r.ExecuteTo(context.Background(), "seq 200000", to)
	require.NoError(t, err)
	require.Regexp(t, `\[\.\.\. [\d,]+ bytes were not kept \.\.\.\]\n$`, to.text.String())
	require.True(t, strings.HasSuffix(to.text.String(), result.Output))
}

// A reader that takes nothing holds up its own command alone. It gets everything later.
func TestASlowReaderOfAFeed(t *testing.T) {
	r := newRig(t)
	met, goes := make(chan struct{}), make(chan struct{})
	var once sync.Once
	slow := &pieces{t: t, seen: func(string) {
		once.Do(func() {
			close(met)
			<-goes
		})
	}}
	var result BashResult
	var all sync.WaitGroup
	all.Go(func() {
		var err error
		result, err = r.ExecuteTo(context.Background(), "seq 300000", slow)
		require.NoError(t, err)
	})
	<-met
	other, err := r.ExecuteTo(context.Background(), "echo other", &pieces{t: t})
	require.NoError(t, err)
	require.Equal(t, "other\n", other.Output)
	close(goes)
	all.Wait()
	require.True(t, strings.HasSuffix(result.Output, "\n300000\n"))
	require.Equal(t, result.TotalBytes, int64(slow.text.Len()))
}

// Errors of the host while a command runs lose no byte, and neither does a host that does not
// say that the job is there.
func TestFaultAFeedLosesNothing(t *testing.T) {
	r := newRig(t)
	real, faulty := r.options.Host, dialecttest.Faulty(r.options.Host)
	faulty.Fail("Bytes", dialecttest.Busy)
	for name, h := range map[string]dialect.Host{"reads that fail": faulty, "a job that is not known": unknown{real}, "no live shell": noShells{real}} {
		r.options.Host = h
		to := &pieces{t: t}
		result, err := r.ExecuteTo(context.Background(), "seq 100000", to)
		require.NoError(t, err, name)
		require.Equal(t, int64(588895), result.TotalBytes, name)
		require.Equal(t, 588895, to.text.Len(), name)
	}
	require.Equal(t, 1, faulty.Met("Bytes"))

	faulty.Fail("Bytes", dialecttest.Busy, dialecttest.Busy)
	r.options.Host = faulty
	to := &pieces{t: t}
	result, err := r.ExecuteTo(context.Background(), "echo a; exit 4", to)
	require.NoError(t, err)
	require.Equal(t, 4, *result.ExitCode)
	require.Equal(t, "[The output could not be read: the host is overloaded]\n", to.text.String())
	require.Equal(t, to.text.String(), result.Output)
}

// unknown is a host that reports a job only at its end.
type unknown struct{ dialect.Host }

func (u unknown) Run(ctx context.Context, r messages.RunCommand, most int, _ func(messages.JobID)) (messages.Record, dialect.Text, error) {
	return u.Host.Run(ctx, r, most, nil)
}

// A command that a person promotes answers at once and continues, also after the session.
func TestAPromotedCommandOfAUser(t *testing.T) {
	r := newRig(t)
	gate := dialecttest.NewGate(t)
	result, err := r.ExecuteTo(context.Background(), "echo begun; "+gate.Wait()+"; echo ended", &pieces{t: t, seen: func(string) {
		_, err := dialect.Promote(context.Background(), r.options.Host, messages.JobID(r.ran()[0].UID))
		require.NoError(t, err)
	}})
	require.NoError(t, err)
	require.Equal(t, "["+textPromoted+"]\nbegun\n", result.Output)
	require.Nil(t, result.ExitCode)
	require.False(t, result.Cancelled)
	require.NoError(t, r.Session.Close(context.Background()))
	require.False(t, r.ran()[0].State.Ended())
	gate.Open()
	end, err := host.Ask(context.Background(), r.options.Host, messages.WaitJobs{Jobs: []messages.JobID{messages.JobID(r.ran()[0].UID)}})
	require.NoError(t, err)
	require.Equal(t, messages.Exited, end.Jobs[0].End.Outcome)
}

// The limit of a user's command is 300 s, which no setting changes. Reaching it is not an
// error.
func TestR159_AUsersCommandHasAFixedLimit(t *testing.T) {
	r := newRig(t, settings(func(s *Settings) { s.MaxTimeout = 7 }))
	r.options.Host = &shortened{Host: r.options.Host}
	result, err := r.ExecuteTo(context.Background(), "echo begun; sleep 600", &pieces{t: t})
	require.NoError(t, err)
	require.Equal(t, 5*time.Minute, r.options.Host.(*shortened).asked)
	require.True(t, result.Cancelled)
	require.True(t, result.TimedOut)
	require.Nil(t, result.ExitCode)
	require.Equal(t, "[Command timed out after 300 seconds]\nbegun\n", result.Output)
}

// shortened is a host that waits for half a second in place of a timeout.
type shortened struct {
	dialect.Host
	asked time.Duration
}

func (s *shortened) Run(ctx context.Context, r messages.RunCommand, most int, known func(messages.JobID)) (messages.Record, dialect.Text, error) {
	s.asked, r.Timeout = r.Timeout, 500*time.Millisecond
	return s.Host.Run(ctx, r, most, known)
}

// A writer that fails ends its feed, and not the command.
func TestAFeedWithoutItsReader(t *testing.T) {
	r := newRig(t)
	result, err := r.ExecuteTo(context.Background(), "echo a; exit 3", broken{})
	require.NoError(t, err)
	require.Equal(t, 3, *result.ExitCode)
	var b bytes.Buffer
	feed := &outputFeed{clean: artifact.NewTextCleaner(&b, artifact.CleanOptions{}), tail: artifact.NewTailBuffer(window, nil)}
	_, err = io.WriteString(feed, "a\r\n")
	require.NoError(t, err)
	require.Equal(t, "a\n", b.String())
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("nothing reads") }
