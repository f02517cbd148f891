package main

import (
	"bytes"
	"encoding/hex"
	"net"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"troupe/internal/cli"
)

// formerKeeper plays a keeper of protocol 2 with its journal, until a client ends it. left is its list of survivors.
func (p *process) formerKeeper(left string) (ended <-chan struct{}) {
	p.t.Helper()
	require.NoError(p.t, os.MkdirAll(p.file("troupe/keeper"), 0o700))
	record, err := hex.DecodeString("11000000befe56e39633066f70656e65646a5c014b3c450142")
	require.NoError(p.t, err)
	require.NoError(p.t, os.WriteFile(p.file("troupe/keeper/keeper.journal"), record, 0o600))
	lease, err := unix.Open(p.file("troupe/keeper/keeper.lock"), unix.O_CREAT|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	require.NoError(p.t, err)
	require.NoError(p.t, unix.Flock(lease, unix.LOCK_EX))
	l, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: p.file("troupe/keeper/keeper.sock"), Net: "unixpacket"})
	require.NoError(p.t, err)
	p.t.Cleanup(func() { _ = l.Close() })
	over := make(chan struct{})
	go func() {
		defer close(over)
		defer unix.Close(lease)
		defer l.Close()
		for {
			c, err := l.AcceptUnix()
			if err != nil || formerClient(c, left) {
				return
			}
		}
	}()
	return over
}

// formerClient serves one client, and reports whether that has ended the keeper.
func formerClient(c *net.UnixConn, left string) (end bool) {
	defer c.Close()
	got := make([]byte, 1<<16)
	n, err := c.Read(got)
	if err != nil || !bytes.Contains(got[:n], []byte(`"proto":2,`)) {
		_, _ = c.Write([]byte(`E{"code":"unsupported","reason":"protocol","message":"the other side of the keeper's socket speaks version 3, this one 2","hint":"h"}`))
		return false
	}
	_, _ = c.Write([]byte(`H{"proto":2,"build":"before","boot_id":"","heard":0,"keeper_id":"K","pid":7}`))
	n, err = c.Read(got)
	frame := []byte("T\x01\x00\x00\x00\x00\x00\x00\x00" + "\x00\x00\x00\x00\x00\x00\x00\x00" + "\x0b\x00\x00\x00" + "\x0c\x00" + "\x01\x00\x00\x00\x00\x00\x00\x00" + "\x00")
	if err != nil || !bytes.Equal(got[:n], frame) {
		return false
	}
	frame[9], frame[21] = 1, 40 // acknowledged, and closed
	frame[17] += byte(len(left))
	_, _ = c.Write(append(frame, left...))
	_, _ = c.Read(got) // the client goes
	return true
}

// A keeper of before is named and refused, doctor names its journal, and shutdown --stop-jobs ends it: then a daemon starts.
func TestFaultAFormerKeeper(t *testing.T) {
	t.Parallel()
	p := program(t)
	t.Cleanup(func() { endJobs(p.dir, p.Env) })
	ended := p.formerKeeper("")
	q := p.beside("run", "-b", "true").start()
	q.rest()
	q.err.has(t, "is of another version of troupe, and says: the other side of the keeper's socket speaks version 3, this one 2")
	q.err.has(t, "troupe shutdown --stop-jobs")
	q.ends(cli.StatusOwn)
	q = p.beside("doctor").start()
	require.Contains(t, q.rest(), "keeper.journal cannot be read: it was written by another version of troupe")
	q.ends(1)
	q = p.beside("shutdown").start()
	q.err.has(t, "no daemon")
	q.ends(cli.StatusMissing)

	_, said := p.succeeds("shutdown", "--stop-jobs")
	require.Contains(t, said, "ended the keeper of "+p.file("troupe/keeper")+" (process 7), which was of another version, with its jobs")
	<-ended
	require.FileExists(t, p.file("troupe/keeper/keeper.journal.old"))
	ended = p.formerKeeper("\x07x")
	q = p.beside("shutdown", "--stop-jobs").start()
	q.err.has(t, "a process could not be stopped: the keeper of another version does not say which")
	q.ends(cli.StatusSurvivors)
	<-ended
	require.FileExists(t, p.file("troupe/keeper/keeper.journal")) // which alone knows the process
	q = p.beside("shutdown", "--stop-jobs", "--grace", "1s").start()
	q.err.has(t, "no daemon")
	q.ends(cli.StatusMissing)
	ended = p.formerKeeper("")
	object, said := p.succeeds("shutdown", "--json", "--stop-jobs")
	require.JSONEq(t, `{"v":1,"survivors":[],"running":[],"escaped":[]}`, object)
	require.Empty(t, said)
	<-ended
	p.succeeds("run", "-b", "true")
}
