package keeper

import (
	"os"
	"path/filepath"
	"testing"
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

// Reboot makes a journal one of another run of the machine.
func Reboot(t *testing.T, dir string) {
	t.Helper()
	path := filepath.Join(dir, journalName)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	entries, _ := readRecords(text)
	text = nil
	for _, e := range entries {
		if e.Kind == entryOpened {
			e.BootID = "another"
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

// Resync does what a keeper asks for whose client did not hear too much.
func (c *Client) Resync() {
	c.mu.Lock()
	l := c.line
	c.mu.Unlock()
	c.restate(l)
}
