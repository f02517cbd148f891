package journal_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/journal"
)

// unpacked returns the content of a file in testdata.
func unpacked(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	must(t, err)
	r, err := gzip.NewReader(bytes.NewReader(text))
	must(t, err)
	all, err := io.ReadAll(r)
	must(t, err)
	return all
}

// older places a journal of format 2, which has every fact with all its fields, and all that
// is stored beside facts.
func older(t testing.TB) (path string) {
	t.Helper()
	path = place(t)
	must(t, os.Mkdir(filepath.Dir(path), 0o700))
	must(t, os.WriteFile(path, unpacked(t, "format2.db.gz"), 0o600))
	return path
}

// A journal of an older format is rewritten when it is opened, once, with all that it has.
func TestAnOlderJournalIsRewritten(t *testing.T) {
	path := older(t)
	want := string(unpacked(t, "format2.txt.gz"))
	must(t, os.WriteFile(path+".new", []byte("of a rewrite that was cut off"), 0o600))
	b := bolt(t, path, journal.BoltOptions{})
	require.Equal(t, want, dump(t, b, "01JDj7"))
	format, err := b.FormatIn()
	must(t, err)
	require.EqualValues(t, journal.Format, format)
	must(t, b.Append(life("j20", 18)))
	must(t, b.Close())
	info, err := os.Stat(path)
	must(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	_, err = os.Stat(path + ".new")
	require.ErrorIs(t, err, os.ErrNotExist)
	b = bolt(t, path, journal.BoltOptions{})
	require.Equal(t, journal.Key{Job: "j8", Principal: "p", Key: "k\xff", Digest: "d"}, byKey(t, b, "p", "k\xff").Key)
	must(t, b.Close())
}

// A journal that cannot be read whole is refused, and left as it is.
func TestAnOlderJournalThatCannotBeReadIsLeft(t *testing.T) {
	path := older(t)
	must(t, journal.SpoilEnds(path))
	before, err := os.ReadFile(path)
	must(t, err)
	_, err = journal.OpenBolt(path, journal.BoltOptions{})
	require.ErrorContains(t, err, "cannot rewrite the journal "+path+" of format 2, which was left as it is")
	after, err := os.ReadFile(path)
	must(t, err)
	require.True(t, bytes.Equal(before, after))
	_, err = os.Stat(path + ".new")
	require.ErrorIs(t, err, os.ErrNotExist)
}
