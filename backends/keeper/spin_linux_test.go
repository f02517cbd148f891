package keeper

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"
)

// nonsense is a keeper that says hello and what it has, and then what nobody can
// read, over every connection.
func nonsense(t *testing.T, path string, met <-chan struct{}, always bool) *atomic.Int64 {
	t.Helper()
	dir, err := openDir(path, false)
	if err != nil {
		t.Fatal(err)
	}
	l, err := listen(dir, socketName)
	if err != nil {
		t.Fatal(err)
	}
	var count atomic.Int64
	t.Cleanup(func() {
		l.Close()
		dir.Close()
	})
	go func() {
		for {
			socket, err := l.AcceptUnix()
			if err != nil {
				return
			}
			c, err := newConn(socket)
			if err != nil {
				return
			}
			talk(c, count.Add(1), always, met)
			c.close()
		}
	}()
	return &count
}

func talk(c *conn, nth int64, always bool, met <-chan struct{}) {
	if _, _, err := c.recv(); err != nil {
		return
	}
	_ = c.trySend(appendJSON(frameHello, hello{Proto: protocol, KeeperID: "k", Resumed: true}), nil)
	if nth == 1 || always {
		if nth > 1 {
			c.setReadDeadline(time.Now().Add(50 * time.Millisecond)) // who comes back asks nothing
		}
		p, _, err := c.recv()
		if err != nil {
			return
		}
		f, err := parseFrame(p)
		if err != nil || len(f.parts) != 1 {
			return
		}
		m := message{kind: sayListed, gen: f.parts[0].gen, body: encode([]inventoryReply{})}
		_ = c.trySend(appendPart(appendHead(nil, 1, 0), &m), nil)
	}
	<-met
	_ = c.trySend([]byte("?"), nil)
}

// A keeper of which nothing can be understood is asked ever more seldom.
func TestNonsenseIsNotAskedForAgainAndAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "k")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	said := make(chan struct{})
	met := nonsense(t, path, said, false)
	c, err := Open(context.Background(), ClientOptions{Dir: path})
	if err != nil {
		t.Fatal(err)
	}
	close(said)
	began := time.Now()
	for met.Load() < 8 { // at 0, 5, 15, 35, 75, 155, 315 ms
		if time.Since(began) > 20*time.Second {
			t.Fatalf("%d connections", met.Load())
		}
		<-time.After(time.Millisecond)
	}
	if took := time.Since(began); took < 150*time.Millisecond {
		t.Errorf("eight connections took %s", took)
	}
	c.Abandon()
}

// A keeper that dies behind its first answer leaves no client that waits for nobody.
func TestOpenAsTheKeeperDies(t *testing.T) {
	path := filepath.Join(t.TempDir(), "k")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	at := make(chan struct{})
	close(at)
	met := nonsense(t, path, at, true)
	for range 20 {
		c, err := Open(context.Background(), ClientOptions{Dir: path})
		if err != nil {
			continue // it was told
		}
		for before := met.Load(); met.Load() == before; <-time.After(time.Millisecond) {
			select {
			case <-c.done:
				t.Fatal("nobody looks for a keeper, and nobody was told")
			default:
			}
		}
		c.Abandon()
	}
}
