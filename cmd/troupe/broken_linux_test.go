package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/cli"
	"troupe/internal/cli/config"
)

// A daemon whose journal breaks reports it in its log, to doctor and to clients with new
// requests. Running jobs can be read and stopped, and so can the daemon.
func TestFaultTheJournalBreaksUnderADaemon(t *testing.T) {
	t.Parallel()
	d, _ := servesLong(t)
	d.beside("run", "-b", "--name", "talks", "echo begun; exec sleep 600").start().ends(0)
	d.beside("wait", "--match", "begun", "talks").start().ends(0)
	const found = "no new work is taken"
	q := d
	for range 200 { // a commit in progress may write all that the next one reads, which then finds nothing
		require.NoError(t, os.Truncate(filepath.Join(d.dir, "troupe", "journal.db"), 4096))
		q = d.beside("run", "true").start() // a write finds it; when this has ended, few commits are in progress
		q.rest()
		if strings.Contains(d.err.String(), found) {
			break
		}
	}
	defer func() {
		if t.Failed() {
			t.Logf("the last run: %v, %q", q.ProcessState, q.err.String())
		}
	}()
	d.err.has(t, found)
	q = d.beside("run", "true").start()
	q.rest()
	q.err.has(t, "is damaged")
	q.err.has(t, "restore it from a backup; then restart")
	q.ends(cli.StatusOwn)
	require.NotContains(t, q.err.String(), "retries by itself")
	for _, verb := range [][]string{{"events"}, {"events", "-f", "--after", "0"}} {
		q = d.beside(verb...).start()
		q.rest()
		q.err.has(t, "cannot read the journal: the journal")
		q.err.has(t, "restore it from a backup; then restart")
		q.ends(cli.StatusMissing)
	}
	logs := d.beside("logs", "-f", "talks").start()
	require.Equal(t, "begun", logs.line())
	q = d.beside("doctor").start()
	require.Contains(t, q.rest(), "nothing can be recorded")
	q.ends(1)
	d.beside("stop", "long").start().rest()
	d.send(syscall.SIGTERM)
	d.ends(0)
	logs.rest()
	d.err.has(t, "cannot close the journal")
}

// A second daemon on the same state directory, whose lock was removed, finds the journal
// in use before it takes the keeper. The first daemon goes on.
func TestFaultASecondDaemonWithoutTheLock(t *testing.T) {
	t.Parallel()
	d, keeper := servesLong(t)
	require.NoError(t, os.Remove(filepath.Join(d.dir, "troupe", config.LockName)))
	second := d.beside("serve", "--socket", d.file("troupe/second")).start()
	second.err.has(t, "journal")
	second.ends(cli.StatusOwn)
	q := d.beside("run", "echo served").start()
	require.Equal(t, "served\n", q.rest())
	q.ends(0)
	require.NotContains(t, d.err.String(), "the keeper")
	require.Equal(t, keeper, keeperPID(t, filepath.Join(d.dir, "troupe")))
}

// A damaged record in the journal of a keeper is a problem that doctor names, while the
// keeper lives and when the next one has read the journal, which the daemon's log says. All
// other records count.
func TestDoctorFindsADamagedJournalOfAKeeper(t *testing.T) {
	t.Parallel()
	d, pid := servesLong(t)
	doctor := func() string {
		p := d.beside("doctor").start()
		defer p.ends(1)
		return p.rest()
	}
	const says = "bytes of the keeper's journal are damaged, first at byte 0"
	path := d.file("troupe/keeper/keeper.journal")
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	defer file.Close()
	one := make([]byte, 1)
	_, err = file.ReadAt(one, 40)
	require.NoError(t, err)
	one[0] ^= 0x40
	_, err = file.WriteAt(one, 40)
	require.NoError(t, err)
	require.Contains(t, doctor(), says)
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	p := d.beside("wait", "long").start()
	p.ends(cli.StatusOwn, 1)
	d.err.has(t, says)
	require.Contains(t, doctor(), says)
	p = d.beside("show", "--json", "long").start()
	require.Contains(t, p.rest(), `"outcome":"lost"`)
}
