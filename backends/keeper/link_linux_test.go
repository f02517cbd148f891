package keeper

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// pair is two ends of one connection.
func pair(t *testing.T) (a, b *conn) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	var ends [2]*conn
	for i, fd := range fds {
		c, err := net.FileConn(os.NewFile(uintptr(fd), "pair"))
		if err == nil {
			ends[i], err = newConn(c.(*net.UnixConn))
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(ends[i].close)
	}
	return ends[0], ends[1]
}

// next is the next frame of a connection, as the other line takes it.
func next(t *testing.T, c *conn, l *link) []message {
	t.Helper()
	p, files, err := c.recv()
	if err != nil {
		t.Fatal(err)
	}
	f, err := parseFrame(p)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 1 {
		f.parts[0].file, f.parts[0].lost = files[0], false
	}
	fresh, err := l.take(f)
	if err != nil {
		t.Fatal(err)
	}
	return fresh
}

// What nobody hears is bounded: then it is dropped, and the other side is told to
// ask anew. The sender never waits.
func TestLineOverflows(t *testing.T) {
	l, other := newLink(100), newLink(100)
	a, b := pair(t)
	l.attach(a, 0)
	for i := range 150 { // the socket takes the first of them
		l.send(message{kind: factGrew, body: make([]byte, 40<<10), gen: uint64(i)})
	}
	seen, resynced := 0, false
	for !resynced {
		for _, m := range next(t, b, other) {
			seen++
			resynced = resynced || m.kind == sayResync
		}
	}
	if seen > 101 {
		t.Errorf("%d messages were kept", seen)
	}
	l.send(message{kind: factDone, gen: 1000})
	for found := false; !found; {
		for _, m := range next(t, b, other) {
			found = found || m.gen == 1000
		}
	}
}

// Over whatever connections: each message comes once and in order, large ones too.
func TestLineGoesOn(t *testing.T) {
	l, other := newLink(1000), newLink(1000)
	want := uint64(1)
	for round := range 20 {
		a, b := pair(t)
		l.attach(a, other.lastReceived())
		for i := range 20 {
			body := []byte(fmt.Sprint(i))
			if i%7 == round%7 {
				body = make([]byte, maxPart+1)
			}
			m, err := (message{kind: askNote, gen: uint64(round*20 + i + 1), body: body}).pack()
			if err != nil {
				t.Fatal(err)
			}
			l.send(m)
		}
		for range round {
			if want > uint64(round*20+20) {
				break // all is there: no frame follows
			}
			for _, m := range next(t, b, other) {
				if m.gen != want {
					t.Fatalf("message %d came, want %d", m.gen, want)
				}
				want++
				if m, err := m.unpack(); err != nil || len(m.body) == 0 {
					t.Fatalf("%d bytes, %v", len(m.body), err)
				}
			}
		}
		l.detach(a)
		a.close()
	}
	a, b := pair(t)
	l.attach(a, other.lastReceived())
	for want <= 400 {
		for _, m := range next(t, b, other) {
			if m.gen != want {
				t.Fatalf("message %d came, want %d", m.gen, want)
			}
			want++
		}
	}
}

// So are the bytes of it.
func TestLineOverflowsByItsBytes(t *testing.T) {
	l, other := newLink(1000), newLink(1000)
	l.most = 1 << 20
	overflows := 0
	l.overflow = func() { overflows++ }
	a, b := pair(t)
	l.attach(a, 0)
	body := make([]byte, 40<<10)
	for range 60 {
		l.send(message{kind: factGrew, body: body})
	}
	l.send(message{kind: factDone, gen: 1})
	for last := uint64(0); last != 1; {
		for _, m := range next(t, b, other) {
			last = m.gen
		}
	}
	if overflows != 2 { // 60 are twice as many as 26 and some
		t.Errorf("it was too much %d times", overflows)
	}
	other.attach(b, 0)
	other.ack()
	next(t, a, l)
	if l.queuedBytes != 0 || len(l.queue) != 0 {
		t.Errorf("%d bytes of %d messages are held", l.queuedBytes, len(l.queue))
	}
}

// However many say something at once, and however often that is too much: the other
// side hears of a gap before it hears what is behind it, and so goes on.
func TestLineOverflowsAtEveryMoment(t *testing.T) {
	l, other := newLink(8), newLink(8)
	again := make(chan struct{}, 1)
	l.overflow = func() {
		select {
		case again <- struct{}{}:
		default:
		}
	}
	a, b := pair(t)
	l.attach(a, 0)
	var saying sync.WaitGroup
	for range 4 {
		saying.Go(func() {
			for range 2000 {
				l.send(message{kind: factGrew, body: make([]byte, 100)}, message{kind: factGrew})
			}
		})
	}
	go func() {
		saying.Wait()
		for !l.send(message{kind: factDone, gen: 1}) {
			<-again
		}
	}()
	for last := uint64(0); last != 1; {
		for _, m := range next(t, b, other) {
			last = m.gen
		}
	}
	if len(again) == 0 {
		t.Error("it was never too much")
	}
}

// The descriptors of logs that a client did not receive are closed when another one
// replaces it, and not by a garbage collection minutes later.
func TestAbandonedLinkClosesItsFiles(t *testing.T) {
	l := newLink(100)
	a, _ := pair(t)
	l.attach(a, 0)
	sent, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	l.send(message{kind: sayLog, file: sent})
	waiting, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	l.detach(a)
	l.send(message{kind: sayLog, file: waiting})
	l.abandon()
	for _, f := range []*os.File{sent, waiting} {
		if _, err := f.Stat(); !errors.Is(err, os.ErrClosed) {
			t.Errorf("a file of an abandoned link: %v", err)
		}
	}
}
