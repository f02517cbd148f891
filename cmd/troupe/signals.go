package main

import (
	"errors"
	"os"
	"os/signal"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// signals are those that end the command, in the order in which they came.
type signals struct {
	heard    chan os.Signal
	pipe     chan os.Signal
	got      unix.Signal // the first one; 0: none
	detached atomic.Bool // who sits there has left the job: what is shown is as after a signal
}

// signalBacklog is how many signals wait while we are busy: the second one
// already means to kill.
const signalBacklog = 4

// listen takes over the signals by which a terminal, a shell or a service
// manager ends a program. INT and HUP stay ignored where they are (nohup, a background
// job of a script); of others the runtime does not know it. A write to a reader that
// has gone is an error from now on.
func listen() *signals {
	s := &signals{heard: make(chan os.Signal, signalBacklog), pipe: make(chan os.Signal, 1)}
	for _, sig := range []os.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT} {
		if !signal.Ignored(sig) {
			signal.Notify(s.heard, sig)
		}
	}
	signal.Notify(s.pipe, unix.SIGPIPE)
	return s
}

// first notes a signal and reports whether it is the first.
func (s *signals) first(sig os.Signal) bool {
	if s.got != 0 {
		return false
	}
	s.got, _ = sig.(unix.Signal)
	return true
}

// received reports whether one has come by now, and notes it.
func (s *signals) received() bool {
	if s.got == 0 {
		select {
		case sig := <-s.heard:
			s.first(sig)
		default:
		}
	}
	return s.got != 0
}

// hungUp reports whether what could not be shown was for a terminal that is gone: the
// signal that says so may come behind the error.
func (s *signals) hungUp(err error) bool {
	if !errors.Is(err, unix.EIO) {
		return false
	}
	if s.got == 0 {
		select {
		case sig := <-s.heard:
			s.first(sig)
		case <-time.After(readerPatience):
		}
	}
	return s.got == unix.SIGHUP
}

// readerPatience is how long a reader may take for the rest of what a command
// has written that a signal ended: enough for one that reads, and none can hold
// us.
const readerPatience = 2 * time.Second

// quitPatience is how long it may take who is in a hurry: as long as what is read at all
// takes for a few bytes.
const quitPatience = 100 * time.Millisecond

// late comes when a reader has had its time; never without a signal.
func (s *signals) late() <-chan time.Time {
	if s.got == 0 && !s.detached.Load() {
		return nil
	}
	return time.After(readerPatience)
}

// waitWriter waits for what is to be read, as any program does that writes, and
// says whether it was. A signal leaves it little time, and the second one none.
func (s *signals) waitWriter(write func()) bool { return s.until(s.late(), write) }

// waitBriefly is patiently for what waits elsewhere if it cannot be done: QUIT leaves it next to no
// time.
func (s *signals) waitBriefly(write func()) bool {
	if s.got == unix.SIGQUIT {
		return s.until(time.After(quitPatience), write)
	}
	return s.waitWriter(write)
}

func (s *signals) until(late <-chan time.Time, write func()) bool {
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
		case sig := <-s.heard:
			if !s.first(sig) || sig == unix.SIGQUIT {
				return false
			}
			late = s.late()
		}
	}
}

// release gives the signals back: when all that is left is to say what happened,
// they end this program as they end any. One that came before counts.
func (s *signals) release() {
	endOnQuit()
	signal.Stop(s.heard)
	for {
		select {
		case sig := <-s.heard:
			s.first(sig)
		default:
			return
		}
	}
}

func (s *signals) close() {
	s.release()
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
		os.Exit(signalBase + int(unix.SIGQUIT))
	}()
}

// unstopped has TSTP do nothing until the function that it returns is called: who is stopped
// at a terminal that he has changed leaves it so to the shell. It is no signal that is
// ignored, which the commands that we start would have from us.
func unstopped() (over func()) {
	nobody := make(chan os.Signal, 1)
	signal.Notify(nobody, unix.SIGTSTP)
	return func() { signal.Stop(nobody) }
}

// signalName is the name as kill(1) knows it: SIGINT.
func signalName(sig os.Signal) string {
	if n, ok := sig.(unix.Signal); ok {
		if name := unix.SignalName(n); name != "" {
			return name
		}
		return "signal " + strconv.Itoa(int(n))
	}
	return sig.String()
}
