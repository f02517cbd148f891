package engine

import (
	"os"
	"sync"
	"syscall"
	"time"
)

// readEnd is this process's end of an output pipe, or the master of a terminal; it is
// non-blocking. Many goroutines may use its descriptor and any may close it. A close
// stops new users and wakes waiters; the last user closes the descriptor. No method
// blocks.
type readEnd struct {
	sys Sys
	fd  int
	tag uint64 // of its listener in the pollset

	mu    sync.Mutex
	users int
	shut  bool
	file  *os.File // owns the descriptor once a goroutine waits for it; nil: none does
}

// use calls do with the descriptor; it returns false if that is closed.
func (r *readEnd) use(do func(fd int)) bool {
	if !r.enter() {
		return false
	}
	defer r.leave()
	do(r.fd)
	return true
}

// wait registers the descriptor with the netpoller and calls do. If the netpoller
// refuses it, a wait in do fails. close ends a wait in do.
func (r *readEnd) wait(name string, do func(syscall.RawConn)) {
	if !r.enter() {
		return
	}
	defer r.leave()
	if conn, err := r.watched(name).SyscallConn(); err == nil {
		do(conn)
	}
}

// push works as that of pipeEnd. It registers with the netpoller only if there is no
// room.
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

// watched registers the descriptor with the netpoller, if possible.
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

// close can be called more than once.
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

// wake ends a wait in the netpoller, by a deadline in the past: File.Close would wait
// for users. A user without the netpoller polls soon. The caller holds mu.
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

// free closes the descriptor after its last use.
func (r *readEnd) free() {
	if r.file != nil {
		_ = r.file.Close()
		return
	}
	_ = r.sys.Close(r.fd)
}
