package engine

import (
	"runtime"
	"sync"
)

// masker forks with another umask than the process has. The umask belongs to
// the file-system context, which the threads of a process share: one thread
// takes a context of its own, for good, and forks from there. It is made when
// the first job needs it, and dies with the engine: the runtime ends a thread
// whose goroutine ends while it is locked to it.
type masker struct {
	h    *host
	mu   sync.Mutex
	todo chan masked
	err  error // the thread could not be made
	shut bool
}

type masked struct {
	mask int
	do   func()
	done chan struct{}
}

// with calls do in a thread that has the umask.
func (m *masker) with(mask int, do func()) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.todo == nil && m.err == nil && !m.shut {
		m.todo = make(chan masked)
		ready := make(chan error)
		m.h.e.background(func() { m.thread(m.todo, ready) })
		if m.err = <-ready; m.err != nil {
			m.todo = nil
		}
	}
	if m.err != nil {
		return m.err
	}
	job := masked{mask, do, make(chan struct{})}
	m.todo <- job
	<-job.done
	return nil
}

func (m *masker) thread(todo <-chan masked, ready chan<- error) {
	runtime.LockOSThread() // never unlocked
	err := m.h.sys.OwnUmask()
	ready <- err
	if err != nil {
		return
	}
	for job := range todo {
		m.h.sys.Umask(job.mask)
		job.do()
		close(job.done)
	}
}

func (m *masker) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.todo != nil && !m.shut {
		close(m.todo)
	}
	m.shut, m.todo = true, nil
}
