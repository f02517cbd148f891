//go:build amd64 || arm64

package signals

import (
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Supported reports whether this platform shows the sender of a signal.
const Supported = true

// shared is the memory that the entry uses. Its offsets are in entry_linux_*.s.
type shared struct {
	next  uintptr // Go's handler
	self  uint32  // this process
	notes [classic]atomic.Uint64
}

// classic is the number of signals below the real-time signals.
const classic = 32

// noted marks a note, which is si_code << 32 | noted | si_pid.
const noted = 1 << 31

// memory returns the memory of the entry, and the address of the entry.
func memory() (s *shared, entry uintptr)

// bell is the signal that the entry passes to Go's handler in place of a noted one.
// Nothing sends it.
const bell = syscall.Signal(64)

// guarded are the signals that end a Go process, or throw, when another process sends
// them.
var guarded = []syscall.Signal{
	unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGILL, unix.SIGTRAP, unix.SIGABRT, unix.SIGBUS,
	unix.SIGFPE, unix.SIGSEGV, unix.SIGTERM, unix.SIGSTKFLT, unix.SIGSYS,
}

// reserved are the real-time signals that Go leaves at their default, which ends the
// process. The entry drops them.
var reserved = []syscall.Signal{32, 34}

// A Guard checks who sends signals to this process. A process has one.
type Guard struct {
	root   string // state directory
	self   int
	shared *shared
	entry  uintptr
	rings  chan os.Signal

	second  time.Time // of the refused signals counted in refused
	refused int
	quieted int
}

// NewGuard guards this process, which belongs to a state directory. Call it after
// signal.Notify: the runtime installs a handler for a signal that was ignored when the
// process started. Ignored signals stay ignored.
func NewGuard(root string) (*Guard, error) {
	g := &Guard{root: filepath.Clean(root), self: os.Getpid(), rings: make(chan os.Signal, 1)}
	g.shared, g.entry = memory()
	signal.Notify(g.rings, bell)
	usual, err := action(unix.SIGTERM, nil)
	if err != nil {
		return nil, err
	}
	if usual.handler() != g.entry {
		g.shared.next, g.shared.self = usual.handler(), uint32(g.self)
	}
	var failed error
	for _, sig := range guarded {
		failed = errors.Join(failed, g.replace(sig, g.shared.next, usual))
	}
	for _, sig := range reserved {
		failed = errors.Join(failed, g.replace(sig, 0, usual))
	}
	return g, failed
}

// replace installs the entry for a signal that has the handler was. It keeps the flags,
// the mask and the alternate stack of Go's action.
func (g *Guard) replace(sig syscall.Signal, was uintptr, usual sigaction) error {
	now, err := action(sig, nil)
	if err != nil || now.handler() != was {
		return err
	}
	usual[0] = uint64(g.entry)
	_, err = action(sig, &usual)
	return err
}

// Run checks the signals that come, for the life of the process. It calls report before
// a signal takes effect.
func (g *Guard) Run(report func(Sender)) {
	for range g.rings {
		for sig := range g.shared.notes {
			if note := g.shared.notes[sig].Swap(0); note != 0 {
				g.check(syscall.Signal(sig), note, report)
			}
		}
	}
}

func (g *Guard) check(sig syscall.Signal, note uint64, report func(Sender)) {
	s := g.trace(sig, int32(note>>32), int(note&(noted-1)))
	if s.Refused == "" {
		report(s)
		_ = unix.Kill(g.self, sig) // the entry passes it to Go's handler
		return
	}
	g.limit(&s)
	report(s)
}

// maxRefused is how many refused signals in a second are for a log.
const maxRefused = 10

func (g *Guard) limit(s *Sender) {
	if now := time.Now(); now.Sub(g.second) > time.Second {
		g.second, g.refused = now, 0
	}
	if g.refused++; g.refused > maxRefused {
		s.Quiet = true
		g.quieted++
		return
	}
	s.Quieted, g.quieted = g.quieted, 0
}

// sigaction is the kernel's struct of that name: handler, flags, restorer, mask.
type sigaction [4]uint64

func (a sigaction) handler() uintptr { return uintptr(a[0]) }

// action sets the action of a signal, unless set is nil, and returns the former one.
func action(sig syscall.Signal, set *sigaction) (was sigaction, err error) {
	const maskSize = 8
	_, _, n := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(&was)), maskSize, 0, 0)
	if n != 0 {
		err = os.NewSyscallError("rt_sigaction", n)
	}
	return was, err
}

func signalName(sig syscall.Signal) string { return unix.SignalName(sig)[len("SIG"):] }
