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

// Signals are those that end the command, in the order in which they came.
type Signals struct {
	Heard    chan os.Signal
	pipe     chan os.Signal
	Got      unix.Signal // the first one; 0: none
	Detached atomic.Bool // who sits there has left the job: what is shown is as after a signal
}

// SignalBacklog is how many signals wait while we are busy: the second one
// already means to kill.
const SignalBacklog = 4

// Listen takes over the signals by which a terminal, a shell or a service
// manager ends a program. INT and HUP stay ignored where they are (nohup, a background
// job of a script); of others the runtime does not know it. A write to a reader that
// has gone is an error from now on.
func Listen() *Signals {
	s := &Signals{Heard: make(chan os.Signal, SignalBacklog), pipe: make(chan os.Signal, 1)}
	for _, sig := range []os.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT} {
		if !signal.Ignored(sig) {
			signal.Notify(s.Heard, sig)
		}
	}
	signal.Notify(s.pipe, unix.SIGPIPE)
	return s
}

// First notes a signal and reports whether it is the first.
func (s *Signals) First(sig os.Signal) bool {
	if s.Got != 0 {
		return false
	}
	s.Got, _ = sig.(unix.Signal)
	return true
}

// Received reports whether one has come by now, and notes it.
func (s *Signals) Received() bool {
	if s.Got == 0 {
		select {
		case sig := <-s.Heard:
			s.First(sig)
		default:
		}
	}
	return s.Got != 0
}

// HungUp reports whether what could not be shown was for a terminal that is gone: the
// signal that says so may come behind the error.
func (s *Signals) HungUp(err error) bool {
	if !errors.Is(err, unix.EIO) {
		return false
	}
	if s.Got == 0 {
		select {
		case sig := <-s.Heard:
			s.First(sig)
		case <-time.After(ReaderPatience):
		}
	}
	return s.Got == unix.SIGHUP
}

// ReaderPatience is how long a reader may take for the rest of what a command
// has written that a signal ended: enough for one that reads, and none can hold
// us.
const ReaderPatience = 2 * time.Second

// quitPatience is how long it may take who is in a hurry: as long as what is read at all
// takes for a few bytes.
const quitPatience = 100 * time.Millisecond

// Late comes when a reader has had its time; never without a signal.
func (s *Signals) Late() <-chan time.Time {
	if s.Got == 0 && !s.Detached.Load() {
		return nil
	}
	return time.After(ReaderPatience)
}

// WaitWriter waits for what is to be read, as any program does that writes, and
// says whether it was. A signal leaves it little time, and the second one none.
func (s *Signals) WaitWriter(write func()) bool { return s.until(s.Late(), write) }

// WaitBriefly is patiently for what waits elsewhere if it cannot be done: QUIT leaves it next to no
// time.
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
		case sig := <-s.Heard:
			if !s.First(sig) || sig == unix.SIGQUIT {
				return false
			}
			late = s.Late()
		}
	}
}

// Release gives the signals back: when all that is left is to say what happened,
// they end this program as they end any. One that came before counts.
func (s *Signals) Release() {
	endOnQuit()
	signal.Stop(s.Heard)
	for {
		select {
		case sig := <-s.Heard:
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

// endOnQuit makes QUIT end this program as it ends any: by itself a Go program
// shows its goroutines, and its status would say that nothing was started.
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

// Unstopped has TSTP do nothing until the function that it returns is called: who is stopped
// at a terminal that he has changed leaves it so to the shell. It is no signal that is
// ignored, which the commands that we start would have from us.
func Unstopped() (over func()) {
	nobody := make(chan os.Signal, 1)
	signal.Notify(nobody, unix.SIGTSTP)
	return func() { signal.Stop(nobody) }
}

// SignalName is the name as kill(1) knows it: SIGINT.
func SignalName(sig os.Signal) string {
	if n, ok := sig.(unix.Signal); ok {
		if name := unix.SignalName(n); name != "" {
			return name
		}
		return "signal " + strconv.Itoa(int(n))
	}
	return sig.String()
}
