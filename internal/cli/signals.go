package cli

import (
	"errors"
	"os"
	"os/signal"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Signals receives the signals that end the command, in their order.
type Signals struct {
	Incoming chan os.Signal
	pipe     chan os.Signal
	Got      unix.Signal // first signal; 0: none
	Detached atomic.Bool // whether the user has detached: what is left to show gets as little time as after a signal
}

// SignalBacklog is how many signals can wait while we are busy: the second one already
// kills.
const SignalBacklog = 4

// Listen takes over the signals by which a terminal, a shell or a service manager ends
// a program. INT and HUP stay ignored if they are (nohup, a background job of a
// script); Go cannot detect that of others. Writes to a closed pipe return an error
// from now on.
func Listen() *Signals {
	s := &Signals{Incoming: make(chan os.Signal, SignalBacklog), pipe: make(chan os.Signal, 1)}
	for _, sig := range []os.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT} {
		if !signal.Ignored(sig) {
			signal.Notify(s.Incoming, sig)
		}
	}
	signal.Notify(s.pipe, unix.SIGPIPE)
	return s
}

// First records a signal and reports whether it is the first.
func (s *Signals) First(sig os.Signal) bool {
	if s.Got != 0 {
		return false
	}
	s.Got, _ = sig.(unix.Signal)
	return true
}

// Received reports whether a signal has come by now, and records it.
func (s *Signals) Received() bool {
	if s.Got == 0 {
		select {
		case sig := <-s.Incoming:
			s.First(sig)
		default:
		}
	}
	return s.Got != 0
}

// HungUp reports whether a write failed because the terminal has gone: with EIO, and
// HUP before or soon after it.
func (s *Signals) HungUp(err error) bool {
	if !errors.Is(err, unix.EIO) {
		return false
	}
	if s.Got == 0 {
		select {
		case sig := <-s.Incoming:
			s.First(sig)
		case <-time.After(ReaderPatience):
		}
	}
	return s.Got == unix.SIGHUP
}

// ReaderPatience bounds the wait for a reader after a signal. A working reader needs
// less, and a stuck one cannot block us.
const ReaderPatience = 2 * time.Second

// quitPatience bounds the same wait after QUIT: a working reader takes a few bytes in
// that time.
const quitPatience = 100 * time.Millisecond

// Late returns a channel that fires ReaderPatience from now; nil without a signal or
// detach.
func (s *Signals) Late() <-chan time.Time {
	if s.Got == 0 && !s.Detached.Load() {
		return nil
	}
	return time.After(ReaderPatience)
}

// WaitWriter calls write and waits for it like any program that writes. It reports
// whether write returned. A signal limits the wait to ReaderPatience, the second one
// ends it.
func (s *Signals) WaitWriter(write func()) bool { return s.until(s.Late(), write) }

// WaitBriefly waits like WaitWriter, but QUIT limits the wait to quitPatience.
func (s *Signals) WaitBriefly(write func()) bool {
	if s.Got == unix.SIGQUIT {
		return s.until(time.After(quitPatience), write)
	}
	return s.WaitWriter(write)
}

func (s *Signals) until(late <-chan time.Time, write func()) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		write()
	}()
	for {
		select {
		case <-done:
			return true
		case <-late:
			return false
		case sig := <-s.Incoming:
			if !s.First(sig) || sig == unix.SIGQUIT {
				return false
			}
			late = s.Late()
		}
	}
}

// Release restores the default action of the signals: while only messages remain, a
// signal ends the program at once. It records a signal that came before.
func (s *Signals) Release() {
	endOnQuit()
	signal.Stop(s.Incoming)
	for {
		select {
		case sig := <-s.Incoming:
			s.First(sig)
		default:
			return
		}
	}
}

// Close stops listening. QUIT then ends the program at once.
func (s *Signals) Close() {
	s.Release()
	signal.Stop(s.pipe)
}

// endOnQuit makes QUIT end the program with its usual status. The Go runtime would
// print all goroutines and exit with status 2.
func endOnQuit() {
	if signal.Ignored(unix.SIGQUIT) {
		return
	}
	quit := make(chan os.Signal, 1)
	signal.Notify(quit, unix.SIGQUIT)
	go func() {
		<-quit
		os.Exit(SignalBase + int(unix.SIGQUIT))
	}()
}

// DisableSuspend disables TSTP until the returned function is called: a program stopped now
// would leave the changed terminal to the shell. It does not ignore the signal, since
// started commands would inherit that.
func DisableSuspend() (restore func()) {
	ignored := make(chan os.Signal, 1)
	signal.Notify(ignored, unix.SIGTSTP)
	return func() { signal.Stop(ignored) }
}

// SignalName returns the name of a signal as kill(1) lists it, such as SIGINT.
func SignalName(sig os.Signal) string {
	if n, ok := sig.(unix.Signal); ok {
		if name := unix.SignalName(n); name != "" {
			return name
		}
		return "signal " + strconv.Itoa(int(n))
	}
	return sig.String()
}
