package keeper

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"troupe/messages"
	"troupe/spill"
)

// remoteLog is one log of the keeper, read through a descriptor that is requested on
// first use. It stays readable when the keeper dies.
type remoteLog struct {
	c      *Client
	id     messages.UID
	stream messages.Stream

	mu       sync.Mutex
	state    spill.State
	known    bool   // the keeper has sent the state
	data     []byte // of a small closed log
	hasAll   bool   // data is complete
	file     *os.File
	fdTarget string
	users    int
	err      error // of the last request
}

func newRemoteLog(c *Client, id messages.UID, s messages.Stream) *remoteLog {
	return &remoteLog{c: c, id: id, stream: s}
}

// errNotStarted reports a job without logs yet.
var errNotStarted = refused(messages.OutputUnavailable, "unborn", "the job has not started: it has no output yet", "retry when it runs")

// open opens a log of the job for reading.
func (j *job) open(s messages.Stream) (spill.Log, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if int(s) >= len(j.logs) || j.separate == (s == messages.Merged) {
		return nil, refused(messages.OutputUnavailable, s.String(), "the job has no log of its "+s.String()+" stream",
			"a job has either the merged stream or stdout and stderr")
	}
	if !j.hasLogs {
		return nil, errNotStarted
	}
	return j.out(s).reader(), nil
}

// out returns a log. The caller holds mu.
func (j *job) out(s messages.Stream) *remoteLog {
	if j.logs[s] == nil {
		j.logs[s] = newRemoteLog(j.c, j.id, s)
	}
	return j.logs[s]
}

// closedLogs handles the final states of a job's logs.
func (j *job) closedLogs(logs []logState) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, l := range logs {
		if l.Order {
			j.order = l.Data
			continue
		}
		if int(l.Stream) < len(j.logs) {
			j.out(l.Stream).update(l, nil)
		}
	}
}

// SmallOutputs returns all that a job has written, by stream, if the keeper sent it
// with the end: at most 4 KiB each. order is the output order of two streams, with the
// times of any. ok says that it is complete; it may be empty.
func (c *Client) SmallOutputs(id messages.UID) (outputs map[messages.Stream][]byte, order []byte, ok bool) {
	c.mu.Lock()
	j := c.jobs[id]
	c.mu.Unlock()
	if j == nil {
		return nil, nil, false
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	outputs = map[messages.Stream][]byte{}
	for _, s := range streamsOf(j.separate) {
		o := j.logs[s]
		if o == nil {
			return nil, nil, false
		}
		o.mu.Lock()
		data, whole := o.data, o.hasAll
		o.mu.Unlock()
		if !whole {
			return nil, nil, false
		}
		if len(data) > 0 {
			outputs[s] = data
		}
	}
	return outputs, j.order, len(outputs) < 2 || j.order != nil
}

// ReleaseSmall says that the result of SmallOutputs is stored: the keeper forgets it
// with the job.
func (c *Client) ReleaseSmall(id messages.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if j := c.jobs[id]; j != nil {
		j.recorded = true
	}
}

// update sets the state that the keeper sent.
func (o *remoteLog) update(l logState, file *os.File) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.state.Closed && !l.State.Closed {
		closeFile(file)
		return // the answer is older
	}
	o.state, o.known = l.State, true
	if l.Whole {
		o.data, o.hasAll = l.Data, true
	}
	if file != nil {
		closeFile(o.file) // a read in progress completes first
		o.file, o.fdTarget = file, l.Place
	}
}

// ask requests the state, and a descriptor if that has changed.
func (o *remoteLog) ask() error {
	o.mu.Lock()
	have := o.fdTarget
	if o.file == nil {
		have = ""
	}
	o.mu.Unlock()
	ctx, cancel := o.c.bounded()
	defer cancel()
	err := o.c.read(ctx, message{kind: askLog, job: o.id, body: encode(wantLog{Stream: o.stream, Have: have})}, func(m message) (bool, error) {
		l, err := decode[logState](m.body)
		if err != nil {
			closeFile(m.file)
			return true, err
		}
		o.update(l, m.file)
		return true, nil
	})
	o.mu.Lock()
	o.err = err
	o.mu.Unlock()
	return err
}

func (c *Client) bounded() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), callBound)
}

// stateNow returns the state, requested unless it is final.
func (o *remoteLog) stateNow() spill.State {
	o.mu.Lock()
	final := o.known && o.state.Closed
	s := o.state
	o.mu.Unlock()
	if final {
		return s
	}
	err := o.ask()
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil && o.file != nil && !o.state.Veiled { // the keeper has died: the descriptor has the size
		if st, err := o.file.Stat(); err == nil {
			o.state.Size = max(o.state.Size, o.state.Base+st.Size())
		}
	}
	return o.state
}

// readAt reads up to len(p) bytes at off. It repeats a read during which another program
// rotated the log's file.
func (o *remoteLog) readAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, unix.EINVAL
	}
	for {
		o.mu.Lock()
		base := o.state.Base
		o.mu.Unlock()
		n, err := o.readStored(p, off)
		if n == 0 || !o.rotated(base) {
			return n, err
		}
	}
}

// rotated reports whether the log's file began at another offset than base during a read.
func (o *remoteLog) rotated(base int64) bool {
	o.mu.Lock()
	named := o.state.Named && !o.state.Closed
	o.mu.Unlock()
	if named {
		_ = o.ask() // a keeper that has died writes no more
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.state.Base != base
}

// readStored reads up to len(p) bytes at off. The descriptor's visible part needs no
// request; at its end the keeper says whether the log ends, too.
func (o *remoteLog) readStored(p []byte, off int64) (int, error) {
	for asked := false; ; asked = true {
		o.mu.Lock()
		f, s, data, whole, final := o.file, o.state, o.data, o.hasAll, o.known && o.state.Closed
		o.mu.Unlock()
		if whole {
			return short(copy(p, data[min(off, int64(len(data))):]), len(p))
		}
		if final && off >= s.Size {
			return 0, io.EOF
		}
		n := 0
		if f != nil {
			shown := p
			if s.Veiled {
				shown = p[:min(max(s.Size-off, 0), int64(len(p)))]
			}
			n = int(min(max(s.Base-off, 0), int64(len(shown)))) // before the file: in a gap
			clear(shown[:n])
			k, err := f.ReadAt(shown[n:], off+int64(n)-s.Base)
			n += k
			if err == nil && len(shown) < len(p) {
				err = io.EOF
			}
			if err == nil {
				return n, nil
			} else if err != io.EOF && !asked { // closed meanwhile: there is another descriptor
				continue
			} else if err != io.EOF {
				return n, err
			}
		}
		if asked {
			return o.fill(p, n, off, s.Size)
		}
		if err := o.ask(); err != nil {
			if f == nil {
				return 0, err
			}
			return short(n, len(p)) // the keeper has died: there is no more
		}
	}
}

// fill completes a read: what the file lacks of the log is a gap, and reads as zeros.
func (o *remoteLog) fill(p []byte, n int, off, size int64) (int, error) {
	end := int(min(max(size-off, int64(n)), int64(len(p))))
	clear(p[n:end])
	return short(end, len(p))
}

// short returns the result of a read, with io.EOF if it was short.
func short(n, wanted int) (int, error) {
	if n < wanted {
		return n, io.EOF
	}
	return n, nil
}

func (o *remoteLog) reader() *remoteLogReader {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.users++
	return &remoteLogReader{o: o}
}

// release closes the descriptor with its last reader. It can be requested again while
// there is a keeper.
func (o *remoteLog) release() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.users--; o.users == 0 && o.file != nil {
		_ = o.file.Close()
		o.file, o.fdTarget = nil, ""
	}
}

// remoteLogReader implements spill.Log.
type remoteLogReader struct {
	o    *remoteLog
	mu   sync.RWMutex
	shut bool
}

// State implements spill.Log. It asks the keeper, unless the log is closed.
func (r *remoteLogReader) State() spill.State { return r.o.stateNow() }

// Err implements spill.RemoteLog. While a descriptor is open, the death of
// the keeper is no error.
func (r *remoteLogReader) Err() error {
	r.o.mu.Lock()
	defer r.o.mu.Unlock()
	if r.o.known && r.o.state.Closed {
		return nil
	}
	if r.o.file != nil && !errors.Is(r.o.err, &messages.Error{Code: messages.KeeperUnresponsive}) {
		return nil
	}
	return r.o.err
}

// ReadAt implements spill.Log.
func (r *remoteLogReader) ReadAt(p []byte, off int64) (int, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.shut {
		return 0, spill.ErrClosed
	}
	return r.o.readAt(p, off)
}

// Close implements spill.Log; it can be called more than once.
func (r *remoteLogReader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.shut {
		r.shut = true
		r.o.release()
	}
	return nil
}

// Order returns the output order of a job's streams. It returns spill.ErrNotFound if
// that is not known any more.
func (c *Client) Order(id messages.UID) (order *spill.Order, err error) {
	ctx, cancel := c.bounded()
	defer cancel()
	err = c.read(ctx, message{kind: askLog, job: id, body: encode(wantLog{Order: true})}, func(m message) (bool, error) {
		l, err := decode[logState](m.body)
		order = spill.ParseOrder(l.Data, l.Whole)
		return true, err
	})
	if errors.Is(err, &messages.Error{Code: messages.OutputUnavailable}) {
		err = spill.ErrNotFound
	}
	return order, err
}
