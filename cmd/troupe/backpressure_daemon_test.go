package main

import (
	"io"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A slow reader pauses a command in the daemon, as in a pipeline: the command does not
// run ahead until its log is full. The reader gets the whole output. When the reader
// dies, nothing stays paused.
func TestASlowReaderHoldsACommandInTheDaemon(t *testing.T) {
	t.Parallel()
	const size = 600 << 16
	const ahead = "i=0; while [ $i -lt 600 ]; do head -c 65536 /dev/zero; i=$((i+1)); done"
	for _, streams := range []string{"merged", "separate"} {
		t.Run(streams, func(t *testing.T) {
			t.Parallel()
			d := serves(t, nil)
			p := d.beside("run", "--name", "ahead", "--streams", streams, ahead).start()
			_, err := p.out.ReadByte()
			require.NoError(t, err)
			require.Less(t, d.stalls("ahead"), float64(size), "it did not wait")
			n, err := io.Copy(io.Discard, p.out)
			require.NoError(t, err)
			p.ends(0)
			require.Equal(t, int64(size-1), n)

			passed := post(t, d.file("over"))
			p = d.beside("run", "--promote-after", "1h", "--name", "dies", "--streams", streams, ahead+"; echo x >"+d.file("over")).start()
			_, err = p.out.ReadByte()
			require.NoError(t, err)
			require.Less(t, d.stalls("dies"), float64(size), "it did not wait")
			d.beside("promote", "dies").start().ends(0)
			p.send(syscall.SIGKILL)
			<-p.ended
			passed()
		})
	}
}

// stalls waits until the output of a job does not grow any more.
func (p *process) stalls(job string) float64 {
	p.t.Helper()
	var size float64
	look := time.NewTicker(50 * time.Millisecond) // to see that nothing happens takes time
	defer look.Stop()
	for same := 0; same < 5; same++ {
		<-look.C
		out := p.record(job)["output"].(map[string]any)
		for _, of := range []string{"merged", "stdout"} {
			if one, ok := out[of].(map[string]any); ok {
				out = one
				break
			}
		}
		if now := out["bytes"].(float64); now != size || now == 0 {
			size, same = now, 0
		}
	}
	return size
}
