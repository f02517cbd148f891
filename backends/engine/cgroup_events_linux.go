package engine

import (
	"encoding/binary"
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// cgroupEvents watches cgroups for changes of "populated". The engine has one inotify
// descriptor, with a watch only for jobs with leftovers: a user has few watches.
type cgroupEvents struct {
	h   *platform
	buf []byte // of the shared goroutine

	mu      sync.Mutex
	fd      int
	file    *os.File
	changed map[int]func()
	closed  bool
}

func newCgroupEvents(h *platform) *cgroupEvents {
	return &cgroupEvents{h: h, buf: make([]byte, 64*unix.SizeofInotifyEvent), fd: -1, changed: make(map[int]func())}
}

// add calls changed, from a goroutine of the engine, whenever cgroup.events of
// g changes, until stop is called.
func (w *cgroupEvents) add(g *cgroup, changed func()) (stop func(), err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.open(); err != nil {
		return nil, err
	}
	path := "/proc/self/fd/" + strconv.Itoa(g.all.base) + "/" + g.name + "/cgroup.events"
	wd, err := w.h.sys.InotifyAdd(w.fd, path, unix.IN_MODIFY)
	if err != nil {
		return nil, err
	}
	w.changed[wd] = changed
	return func() { w.remove(wd) }, nil
}

func (w *cgroupEvents) remove(wd int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.changed[wd]; ok && !w.closed {
		delete(w.changed, wd)
		_ = w.h.sys.InotifyRemove(w.fd, wd) // EINVAL: the cgroup is gone, the watch with it
	}
}

// open opens the inotify descriptor, once. The caller holds mu.
func (w *cgroupEvents) open() error {
	if w.closed {
		return os.ErrClosed
	}
	if w.file != nil {
		return nil
	}
	fd, err := w.h.sys.InotifyInit()
	if err != nil {
		return err
	}
	file, err := w.h.listen(fd, "inotify", w.read)
	if err == nil {
		w.fd, w.file = fd, file
	}
	return err
}

// read handles the events that are ready.
func (w *cgroupEvents) read(fd int) {
	for {
		n, err := w.h.sys.Read(fd, w.buf)
		if err != nil || n <= 0 {
			return
		}
		w.tell(w.buf[:n])
	}
}

// tell makes the call for each event. After an overflow it makes all calls.
func (w *cgroupEvents) tell(events []byte) {
	for len(events) >= unix.SizeofInotifyEvent {
		wd := int(int32(binary.NativeEndian.Uint32(events)))
		mask := binary.NativeEndian.Uint32(events[4:])
		length := int(binary.NativeEndian.Uint32(events[12:]))
		events = events[min(len(events), unix.SizeofInotifyEvent+length):]
		var calls []func()
		w.mu.Lock()
		if mask&unix.IN_Q_OVERFLOW != 0 {
			for _, f := range w.changed {
				calls = append(calls, f)
			}
		} else if f := w.changed[wd]; f != nil {
			calls = append(calls, f)
		}
		w.mu.Unlock()
		for _, f := range calls {
			w.h.engine.background(f)
		}
	}
}

func (w *cgroupEvents) close() {
	w.mu.Lock()
	file := w.file
	w.closed = true
	w.mu.Unlock()
	if file != nil {
		_ = file.Close()
	}
}
