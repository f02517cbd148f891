package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// What is sent to a job through a pipe arrives, every byte and in order, however
// late the job begins to read.
func TestPipedInputArrives(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	input := make([]byte, 50<<20)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(input)
	sum := sha256.Sum256(input)
	open := gate(t, d.file("gate"))
	d.beside("run", "-b", "-i", "--name", "sum", "echo begun; read x < gate; exec sha256sum").start().ends(0)
	p := d.beside("attach", "sum")
	p.Stdin = bytes.NewReader(input)
	p.start()
	d.beside("wait", "--match", "begun", "sum").start().ends(0)
	open()
	require.Contains(t, p.rest(), hex.EncodeToString(sum[:]))
	p.ends(0)
	require.Empty(t, p.err.String())
}

// A job need not read all that it is sent.
func TestPipedInputIsLeft(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	d.beside("run", "-b", "-i", "--name", "first", `read -r x; echo "got $x"; exec <&-; sleep 0.01; exit 3`).start().ends(0)
	p := d.beside("attach", "first")
	p.Stdin = bytes.NewReader(append([]byte("hello\n"), make([]byte, 5<<20)...))
	p.start()
	p.ends(3)
}

// A client without the input lease keeps its piped input, and watches.
func TestPipedInputWaitsForTheLease(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	d.beside("run", "-b", "-i", "--name", "one", "echo begun; cat; exit 5").start().ends(0)
	d.beside("wait", "--match", "begun", "one").start().ends(0)
	first := d.beside("attach", "one")
	in, err := first.StdinPipe()
	require.NoError(t, err)
	first.start()
	_, err = in.Write([]byte("mine\n"))
	require.NoError(t, err)
	require.Equal(t, "mine", first.line())
	second := d.beside("attach", "one")
	second.Stdin = bytes.NewReader([]byte("yours\n"))
	second.start()
	second.err.has(t, "another client has the input lease; read-only (take it: troupe attach --take ")
	require.NoError(t, in.Close())
	first.ends(5)
	second.ends(5)
	require.NotContains(t, first.rest()+second.rest(), "yours")
}
