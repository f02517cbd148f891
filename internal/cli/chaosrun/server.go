package chaosrun

import (
	"context"
	"errors"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"troupe/client"
	"troupe/host"
	"troupe/internal/cli"
	"troupe/internal/cli/connect"
	"troupe/internal/cli/terminal"
	"troupe/messages"
)

// server is the daemon with the faults, or the next one after its death.
type server struct {
	main  *cli.Main // without a place for notes: its daemon is started more than once
	mu    sync.Mutex
	ended bool // it is to stay down
	down  chan struct{}
}

// start starts the daemon, and the next one each time that it dies, until end.
func start(m *cli.Main) (*server, error) {
	quiet, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	inside := *m
	inside.Err = quiet
	s := &server{main: &inside, down: make(chan struct{})}
	fd, err := s.find()
	if err != nil {
		return nil, err
	}
	go func() {
		defer close(s.down)
		for err := error(nil); err == nil; fd, err = s.find() {
			awaitEnd(fd)
			if s.over() {
				return
			}
		}
	}()
	return s, nil
}

// dial connects to the daemon, which is started if there is none.
func (s *server) dial() (*client.Client, error) {
	return connect.FindDaemon(s.main, connect.Required, terminal.NewPrinter(s.main))
}

// find returns a descriptor of the daemon's process.
func (s *server) find() (int, error) {
	c, err := s.dial()
	if err != nil {
		return 0, err
	}
	defer c.Close()
	about, err := c.Version(context.Background())
	if err != nil {
		return 0, err
	}
	return processFD(about.PID)
}

// awaitEnd returns when a process has ended.
func awaitEnd(fd int) {
	defer unix.Close(fd)
	for {
		if _, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1); !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

func (s *server) over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// end stops all jobs and the daemon.
func (s *server) end() error {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	c, err := s.dial()
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = host.Ask(context.Background(), c.Host(), messages.ShutdownNode{Grace: -1, Reason: "troupe chaos"})
	<-s.down
	_ = s.main.Err.Close()
	return err
}
