package engine

import (
	"os"
	"sync"
	"syscall"
	"time"
)

// readEnd is our end of an output pipe, or the master of a terminal, which never
// waits. Many goroutines may use its descriptor and any may close it: that keeps
// others from it and wakes who waits; the last who uses it gives it back. Nothing
// here blocks, whatever locks the caller holds.
type readEnd struct {
	sys Sys
	fd  int
	tag uint64 // where it is listened to; of the pollset

	mu    sync.Mutex
	users int
	shut  bool
	file  *os.File // the descriptor's owner since a goroutine waits for it; nil: none does
}

// use calls do with the descriptor, and reports false if it is closed.
func (r *readEnd) use(do func(fd int)) bool {
	if !r.enter() {
		return false
	}
	defer r.leave()
	do(r.fd)
	return true
}

// wait gives the descriptor to the netpoller and calls do with it there, where a
// wait fails if the netpoller would not have it. A close ends what waits in do.
func (r *readEnd) wait(name string, do func(syscall.RawConn)) {
	if !r.enter() {
		return
	}
	defer r.leave()
	if conn, err := r.watched(name).SyscallConn(); err == nil {
		do(conn)
	}
}

// push is as that of a pipeEnd. The netpoller is asked only if there is no room.
func (r *readEnd) push(name string, try func(fd uintptr) bool) (watched bool, err error) {
	if !r.enter() {
		return true, os.ErrClosed
	}
	defer r.leave()
	if try(uintptr(r.fd)) {
		return true, nil
	}
	file := r.watched(name)
	conn, err := file.SyscallConn()
	if err != nil {
		return true, err
	}
	if file.SetWriteDeadline(time.Time{}) != nil {
		return false, nil
	}
	r.mu.Lock()
	if r.shut {
		r.wake()
	}
	r.mu.Unlock()
	return true, conn.Write(try)
}

// nudge ends a push that waits for room.
func (r *readEnd) nudge() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file != nil {
		_ = r.file.SetWriteDeadline(time.Unix(1, 0))
	}
}

// watched has the netpoller wait for the descriptor, if it will.
func (r *readEnd) watched(name string) *os.File {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil {
		r.file = os.NewFile(uintptr(r.fd), name)
	}
	if r.shut {
		r.wake()
	}
	return r.file
}

// close may be called again.
func (r *readEnd) close() {
	r.mu.Lock()
	first, idle := !r.shut, r.users == 0
	r.shut = true
	if first && !idle && r.file != nil {
		r.wake()
	}
	r.mu.Unlock()
	if first && idle {
		r.free()
	}
}

// wake ends a wait in the netpoller, by a deadline that has passed: closing the
// file would wait for those who use it. Who looks without the netpoller looks
// soon. Called with mu.
func (r *readEnd) wake() { _ = r.file.SetDeadline(time.Unix(1, 0)) }

func (r *readEnd) closed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.shut
}

func (r *readEnd) enter() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.shut {
		return false
	}
	r.users++
	return true
}

func (r *readEnd) leave() {
	r.mu.Lock()
	r.users--
	last := r.users == 0 && r.shut
	r.mu.Unlock()
	if last {
		r.free()
	}
}

// free gives the descriptor back. Nobody uses it, and nobody will.
func (r *readEnd) free() {
	if r.file != nil {
		_ = r.file.Close()
		return
	}
	_ = r.sys.Close(r.fd)
}
