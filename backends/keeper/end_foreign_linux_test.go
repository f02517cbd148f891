package keeper

import (
	"context"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"troupe/backends"
	"troupe/messages"
)

// former is a record of the journal of a keeper of protocol 2.
const former = "11000000befe56e39633066f70656e65646a5c014b3c450142" // opened, of the keeper K and the boot B

func formerJournal(t *testing.T, dir string) (text []byte) {
	t.Helper()
	text, err := hex.DecodeString(former)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, journalName), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// isFormer checks that an error names the journal of another version, and that the file is as it was.
func isFormer(t *testing.T, dir string, err error, text []byte) {
	t.Helper()
	if !errors.Is(err, errOtherJournal) || !strings.Contains(err.Error(), filepath.Join(dir, journalName)) || !strings.Contains(err.Error(), "another version of troupe") {
		t.Errorf("the error is %v", err)
	}
	if now, err := os.ReadFile(filepath.Join(dir, journalName)); err != nil || string(now) != string(text) {
		t.Errorf("the journal was changed: %x, %v", now, err)
	}
}

func privateDir(t *testing.T, parts ...string) string {
	t.Helper()
	dir := filepath.Join(append([]string{t.TempDir()}, parts...)...)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A journal of before is no damaged one: a keeper refuses it by name, and leaves it alone.
func TestTheJournalOfAnotherVersion(t *testing.T) {
	dir := privateDir(t, "k")
	text := formerJournal(t, dir)
	where, err := openDir(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	defer where.Close()
	_, err = openJournal(where, false, func(err error) { t.Errorf("a fault: %v", err) })
	isFormer(t, dir, err, text)
	alone := privateDir(t, "alone") // a process that cannot become a keeper has the lease to its end
	formerJournal(t, alone)
	isFormer(t, alone, Serve(t.Context(), Options{Dir: alone, Alone: true}), text)
	_, err = Inspect(dir)
	isFormer(t, dir, err, text)
	if damage := Damage(dir); !strings.Contains(damage, "another version of troupe") || strings.Contains(damage, "disk") {
		t.Errorf("doctor says %q", damage)
	}
	if err := SetAside(dir); err != nil {
		t.Fatal(err)
	}
	if aside, err := os.ReadFile(filepath.Join(dir, journalName+".old")); err != nil || string(aside) != string(text) {
		t.Errorf("aside is %x, %v", aside, err)
	}
	if seen, err := Inspect(dir); err != nil || seen.Known {
		t.Errorf("then: %+v, %v", seen, err)
	}
}

// The journal of a detached job of another version is skipped and named. While its keeper runs, no fleet begins: it would
// take the job for lost.
func TestADetachedJobOfAnotherVersion(t *testing.T) {
	root := privateDir(t)
	id := messages.UID("01ARZ3NDEKTSV4RRFFQ69G5FAV")
	dir := filepath.Join(root, string(id))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	text := formerJournal(t, dir)
	var faults []error
	o := FleetOptions{Root: root, Fault: func(err error) { faults = append(faults, err) }}
	f, err := OpenFleet(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	f.Close(true)
	isFormer(t, dir, errors.Join(faults...), text)
	Sweep(root, 0)
	isFormer(t, dir, RemoveDetached(root, id), text)
	isFormer(t, dir, WaitEnd(t.Context(), dir), text)

	hold(t, dir)
	_, err = OpenFleet(t.Context(), o)
	isFormer(t, dir, err, text)
}

// hold takes the lease of a directory for the time of a test.
func hold(t *testing.T, path string) (release func()) {
	t.Helper()
	dir, err := openDir(path, false)
	if err != nil {
		t.Fatal(err)
	}
	lease, err := takeLease(dir, leaseBound)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lease.Close(); dir.Close() })
	return func() { lease.Close() }
}

// formerKeeper plays a keeper of protocol 2, which takes a client of its own protocol alone, until it has ended. It answers
// with a body, or dies before that.
func formerKeeper(t *testing.T, path string, body []byte, dies bool) {
	t.Helper()
	dir, err := openDir(path, false)
	if err != nil {
		t.Fatal(err)
	}
	release := hold(t, path)
	l, err := listen(dir, socketName)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	t.Cleanup(func() { l.Close(); <-ended; dir.Close() })
	serve := func(c *conn) (closed bool) {
		defer c.close()
		p, _, err := c.recv()
		if err != nil || !strings.Contains(string(p), `"proto":2,`) {
			_ = c.trySend([]byte(`E{"code":"unsupported","reason":"protocol","message":"the other side of the keeper's socket speaks version 3, this one 2"}`), nil)
			return false
		}
		_ = c.trySend([]byte(`H{"proto":2,"build":"before","boot_id":"","heard":0,"keeper_id":"K","pid":7}`), nil)
		const askedFor = "54" + "0100000000000000" + "0000000000000000" + "0b000000" + "0c" + "00" + "0100000000000000" + "00" // frame 1: the message 12, of the number 1
		if p, _, err = c.recv(); err != nil || hex.EncodeToString(p) != askedFor {
			t.Errorf("it is asked %x, %v", p, err)
			return false
		}
		if dies {
			return true
		}
		m := message{kind: 40, gen: 1, body: body}
		_ = c.trySend(appendPart(appendHead(nil, 1, 1), &m), nil)
		_, _, _ = c.recv() // the client goes
		return true
	}
	go func() {
		defer close(ended)
		for {
			socket, err := l.AcceptUnix()
			if err != nil {
				return
			}
			c, err := newConn(socket)
			if err != nil {
				t.Error(err)
				return
			}
			if serve(c) {
				release()
			}
		}
	}()
}

// A keeper of before is named and refused, and ended by its last request.
func TestAKeeperOfProtocol2(t *testing.T) {
	for name, c := range map[string]struct {
		survivors string
		dies      bool
		aside     bool
	}{"": {aside: true}, "with survivors": {survivors: "\x07x"}, "dies": {dies: true}} {
		dir := privateDir(t, "k")
		formerJournal(t, dir)
		formerKeeper(t, dir, []byte(c.survivors), c.dies)
		_, err := Open(t.Context(), ClientOptions{Dir: dir, Program: []string{"/bin/false"}})
		if !errors.Is(err, errProtocol) || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "version 3, this one 2") || !strings.Contains(err.Error(), "troupe shutdown --stop-jobs") {
			t.Errorf("%s: the client says %v", name, err)
		}
		pid, left, err := EndForeign(dir)
		if pid != 7 || (len(left) > 0) != (c.survivors != "") || (err != nil) != c.dies {
			t.Errorf("%s: ended %d, %v, %v", name, pid, left, err)
		}
		if _, err := os.Stat(filepath.Join(dir, journalName)); errors.Is(err, os.ErrNotExist) != c.aside { // processes that may live are only there
			t.Errorf("%s: its journal: %v", name, err)
		}
		if pid, _, err := EndForeign(dir); c.aside && (pid != 0 || err != nil) {
			t.Errorf("%s: ended again: %d, %v", name, pid, err)
		}
	}
}

// ServeForeign runs a keeper of a later protocol.
func ServeForeign(dir string) error {
	return Serve(context.Background(), Options{Dir: dir, protocol: laterProtocol})
}

const laterProtocol = 9

// StartForeign starts a job in the keeper of ServeForeign, as a client of its protocol does.
func StartForeign(t *testing.T, dir string, spec backends.Spec) (pid int) {
	t.Helper()
	c := rawOf(t, dir, hello{Proto: laterProtocol, Client: "later"})
	defer c.close()
	reply := answerTo(t, c, message{kind: askStart, gen: 1, job: spec.ID, body: encode(startRequest{Spec: spec})})
	fact, err := parseFact(reply.kind, reply.body)
	started, is := fact.(messages.ProcessStarted)
	if !is {
		t.Fatalf("%+v, %v", fact, err)
	}
	return started.PID
}

// AskForeign asks a keeper of another protocol for something else than its end, and returns the answer.
func AskForeign(t *testing.T, dir string) error {
	t.Helper()
	c := rawOf(t, dir, hello{Proto: protocol, Client: "now", End: true})
	defer c.close()
	reply := answerTo(t, c, message{kind: askInventory, gen: 1})
	e, err := decode[messages.Error](reply.body)
	if reply.kind != sayRefused || err != nil {
		t.Fatalf("%+v, %v", reply, err)
	}
	return &e
}

// answerTo sends the first message of a connection, and returns the first one that comes.
func answerTo(t *testing.T, c *conn, m message) message {
	t.Helper()
	if _, _, err := c.recv(); err != nil { // hello
		t.Fatal(err)
	}
	if err := c.trySend(appendPart(appendHead(nil, 1, 0), &m), nil); err != nil {
		t.Fatal(err)
	}
	p, _, err := c.recv()
	if err != nil {
		t.Fatal(err)
	}
	f, err := parseFrame(p)
	if err != nil {
		t.Fatal(err)
	}
	return f.parts[0]
}
