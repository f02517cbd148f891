package keeper

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"troupe/backends/engine"

	"troupe/backends"
	"troupe/messages"
)

// Abandon plays the death of a client: nothing more is said or heard.
func (c *Client) Abandon() {
	c.mu.Lock()
	c.closed = true
	close(c.stop)
	if c.conn != nil {
		c.conn.close()
	}
	c.mu.Unlock()
	<-c.done
}

// Calls returns the number of requests that wait for an answer.
func (c *Client) Calls() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.calls)
}

// Reboot makes a journal one of another run of the machine.
func Reboot(t *testing.T, dir string) {
	t.Helper()
	rewriteJournal(t, dir, func(e *entry) bool {
		if e.Kind == entryOpened {
			e.BootID = "another"
		}
		return true
	})
}

// Starting makes the journal of a dead keeper one that it left between the fork of its jobs and
// the record of that.
func Starting(t *testing.T, dir string) {
	t.Helper()
	rewriteJournal(t, dir, func(e *entry) bool { return e.Kind != string(engine.RecordStarted) })
}

// rewriteJournal passes each entry of a journal to edit, which says whether it stays.
func rewriteJournal(t *testing.T, dir string, edit func(*entry) bool) {
	t.Helper()
	path := filepath.Join(dir, journalName)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	entries, _, _, err := readRecords(text)
	if err != nil {
		t.Fatal(err)
	}
	text = nil
	for _, e := range entries {
		if !edit(&e) {
			continue
		}
		if text, err = appendRecord(text, e); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Ping waits until everything that was asked is done.
func (c *Client) Ping() error {
	ctx, cancel := c.bounded()
	defer cancel()
	return c.call(ctx, message{kind: askDone}, func(message) (bool, error) { return true, nil })
}

// Break breaks the connection, as nothing does while both sides live.
func (c *Client) Break() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn != nil {
		c.conn.close()
	}
}

// Beating has a heart that is faster, and leaves a keeper stopped that is.
func (o ClientOptions) Beating(every time.Duration) ClientOptions {
	o.heartbeat, o.leave = every, true
	return o
}

// Resync does what a keeper asks for whose client did not hear too much.
func (c *Client) Resync() {
	c.mu.Lock()
	l := c.link
	c.mu.Unlock()
	c.rebindAll(l)
}

// HelloAndGone is a client that connects, says hello, and dies before it is answered.
func HelloAndGone(t *testing.T, dir string) {
	t.Helper()
	raw(t, dir, "gone").close()
}

func raw(t *testing.T, path, name string) *conn {
	t.Helper()
	return rawOf(t, path, hello{Proto: protocol, Client: name})
}

func rawOf(t *testing.T, path string, me hello) *conn {
	t.Helper()
	dir, err := openDir(path, false)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	c, err := dial(dir, socketName)
	if err == nil {
		err = c.trySend(appendJSON(frameHello, me), nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// StartWithoutRoom starts a job whose texts travel in a descriptor, for which the
// keeper has no room; so does a control. It gives the two answers.
func StartWithoutRoom(t *testing.T, dir string, id messages.UID) (start, control messages.ProcessFact) {
	t.Helper()
	c := raw(t, dir, "crowded")
	defer c.close()
	if _, _, err := c.recv(); err != nil {
		t.Fatal(err)
	}
	for n, k := range []kind{askStart, askDo} {
		m := message{kind: k, gen: uint64(n + 1), job: id, big: true, file: os.Stdin}
		if err := c.trySend(appendPart(appendHead(nil, uint64(n+1), 0), &m), nil); err != nil {
			t.Fatal(err)
		}
	}
	for control == nil {
		p, _, err := c.recv()
		if err != nil {
			t.Fatal(err)
		}
		f, err := parseFrame(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range f.parts {
			fact, err := parseFact(m.kind, m.body)
			if err != nil {
				t.Fatal(err)
			}
			if start == nil {
				start = fact
			} else {
				control = fact
			}
		}
	}
	return start, control
}

// Bound sets how many requests wait for a keeper that does not take them.
func (c *Client) Bound(requests int) {
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	c.link.limit = requests
}

// Unnumbered plays a keeper that gives answers no numbers to a job that is asked for as
// many things, the first of which is refused before; it returns what the owner hears.
func Unnumbered(t *testing.T, answers ...messages.ProcessFact) (heard []messages.ProcessFact) {
	t.Helper()
	j := newJob(&Client{}, "J", false)
	j.bound = backends.Bind(func(f messages.ProcessFact) { heard = append(heard, f) })
	for i := range answers {
		if i == 1 {
			j.failPending(&messages.Error{})
		}
		j.pendingControls = append(j.pendingControls, &pendingControl{nth: uint64(i + 1)})
	}
	for _, f := range answers {
		j.onFact(0, f)
	}
	return heard
}

// AskUnknown sends a request that no keeper knows, as a later client may.
func (c *Client) AskUnknown() error {
	ctx, cancel := c.bounded()
	defer cancel()
	return c.call(ctx, message{kind: sayResync - 1}, func(message) (bool, error) { return true, nil })
}

// Features returns the features of the keeper's engine.
func (c *Client) Features() engine.Features {
	c.mu.Lock()
	defer c.mu.Unlock()
	var f engine.Features
	_ = json.Unmarshal(c.keeper.Features, &f)
	return f
}
