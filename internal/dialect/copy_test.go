package dialect_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/artifact"
	"troupe/internal/dialect"
	"troupe/internal/test/dialect"
	"troupe/messages"
)

// wrote runs a command on a host and gives the job.
func wrote(t *testing.T, h dialect.Host, text string, quota messages.Quota) messages.JobID {
	t.Helper()
	r := messages.RunCommand{Program: messages.Program{Text: text}, Dir: t.TempDir(), Stdio: messages.Stdio{Streams: messages.MergedStreams, Stdin: messages.StdinNull}, Store: messages.Store{Quota: quota}}
	job, _, err := h.Run(t.Context(), r, 0, nil)
	require.NoError(t, err)
	require.Zero(t, job.End.Shell(), "%+v", job)
	return messages.JobID(job.UID)
}

func TestR287_CopiesAreRawOrClean(t *testing.T) {
	h := dialecttest.Host(t)
	many := strings.Repeat("é", 1<<20)
	job := wrote(t, h, `printf '\033[31mred\033[0m\r\n\377'; printf 'é%.0s' $(seq 1048576)`, messages.Quota{})
	raw := "\x1b[31mred\x1b[0m\r\n\xff"

	var asIs, cleaned, rest bytes.Buffer
	next, err := dialect.Copy(t.Context(), h, job, messages.Merged, 0, -1, &asIs, nil)
	require.NoError(t, err)
	require.Equal(t, int64(len(raw+many)), next)
	require.True(t, asIs.String() == raw+many, "%.40q", asIs.String())

	c := artifact.NewTextCleaner(&cleaned, artifact.CleanOptions{})
	_, err = dialect.Copy(t.Context(), h, job, messages.Merged, 0, -1, c, nil)
	require.NoError(t, errors.Join(err, c.Close()))
	require.True(t, cleaned.String() == "red\n\uFFFD"+many, "%.40q", cleaned.String())

	next, err = dialect.Copy(t.Context(), h, job, messages.Merged, int64(len(raw)), int64(len(raw)+6), &rest, nil)
	require.NoError(t, err)
	require.Equal(t, int64(len(raw)+6), next)
	require.Equal(t, "ééé", rest.String())

	_, err = dialect.Copy(t.Context(), h, job, messages.Merged, 0, -1, artifact.NewTextCleaner(failing{}, artifact.CleanOptions{}), nil)
	require.ErrorIs(t, err, dialect.ErrWrite)
	require.ErrorIs(t, err, io.ErrShortWrite, "a disk that is full")
	ctx, stop := context.WithCancel(t.Context())
	stop()
	_, err = dialect.Copy(ctx, h, job, messages.Merged, 0, -1, io.Discard, nil)
	require.ErrorIs(t, err, context.Canceled)
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

// What was not kept is told where it is missing, wherever a copy begins: also within a
// piece that has bytes on both sides of it.
func TestCopyTellsWhatWasNotKeptWhereItIsMissing(t *testing.T) {
	h := dialecttest.Host(t)
	s := strings.Repeat("0123456789abcde\n", 1<<18) // 4 MiB
	for policy, behind := range map[string]bool{"elide": true, "keep_head": false} {
		job := wrote(t, h, `yes 0123456789abcde | head -n 262144`, messages.Quota{Bytes: 2 << 20, Policy: policy})
		for _, from := range []int64{0, 1600, 1<<18 - 16} {
			var got bytes.Buffer
			var missing int64
			next, err := dialect.Copy(t.Context(), h, job, messages.Merged, from, -1, &got, func(g messages.OutputGap) {
				missing += g.To - g.From
				require.Equal(t, g.From, from+int64(got.Len()), "from %d", from)
				fmt.Fprint(&got, artifact.NotKept(g.To-g.From))
			})
			require.NoError(t, err)
			require.Equal(t, int64(len(s)), next)
			require.Positive(t, missing, policy)
			head, tail, told := strings.Cut(got.String(), artifact.NotKept(missing))
			require.True(t, told, policy)
			require.Equal(t, int64(len(s)), from+int64(len(head)+len(tail))+missing, policy)
			require.True(t, strings.HasPrefix(s[from:], head) && strings.HasSuffix(s, tail), policy)
			require.Equal(t, behind, tail != "", policy)
		}
	}
}
