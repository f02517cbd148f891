package engine

import (
	"os"
	osignal "os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	lastSignal = syscall.Signal(64) // as in the kernel; SIGRTMAX
	sigIgn     = 1                  // SIG_IGN as a handler
)

// clearSignals gives jobs the default action of the signals that this process was started
// with as ignored, and notes whether it was started with blocked signals. The process
// itself still ignores the former. The Go runtime sets a signal to its default in a forked
// child if it believes that it handles the signal here, as after Notify.
func (h *platform) clearSignals() {
	never := make(chan os.Signal, 1)
	for sig := syscall.Signal(1); sig <= lastSignal; sig++ {
		var was, now sigaction
		if h.sys.SignalAction(sig, nil, &was) != nil || was[0] != sigIgn {
			continue
		}
		osignal.Notify(never, sig)
		set := &was
		if h.sys.SignalAction(sig, nil, &now) == nil && now[0] == sigIgn {
			set = &sigaction{} // the runtime cannot handle it
		}
		_ = h.sys.SignalAction(sig, set, nil)
	}
	var blocked unix.Sigset_t
	h.masked = h.sys.SignalMask(nil, &blocked) == nil && blocked != (unix.Sigset_t{})
}

// unmasked calls fork in a thread that blocks no signal. The thread stays so: the process
// belongs to the engine.
func (h *platform) unmasked(fork func()) {
	if h.masked {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		_ = h.sys.SignalMask(&unix.Sigset_t{}, nil)
	}
	fork()
}
