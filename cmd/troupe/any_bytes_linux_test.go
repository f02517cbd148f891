package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// A command, its words, its variables and its directory may have any bytes, also in the daemon.
func TestAnyBytesGoThroughTheDaemon(t *testing.T) {
	t.Parallel()
	d := program(t, "serve").start()
	d.err.has(t, `"message":"ready"`)
	t.Cleanup(d.swept)
	dir := d.file("d\xffir")
	require.NoError(t, os.Mkdir(dir, 0o700))
	text := d.beside("run", "-C", dir, "-e", "A=\xfe", "printf '%s|%s|' \"$A\" 'a\xfdb'; pwd").start()
	require.Equal(t, "\xfe|a\xfdb|"+dir+"\n", text.rest())
	text.ends(0)
	words := d.beside("run", "--", "printf", "%s|", "a\xfcb").start()
	require.Equal(t, "a\xfcb|", words.rest())
	words.ends(0)
}
