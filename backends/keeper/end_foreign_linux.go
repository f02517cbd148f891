package keeper

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"troupe/messages"
)

// protocolBefore is that of keepers which end only for a client of the same protocol.
const protocolBefore = 2

// EndForeign ends the keeper of a directory and all its jobs, at once, if it speaks another protocol.
// If nothing is left, it sets the journal aside. It returns the process of that keeper (0: there is
// none), and the processes that could not be stopped. After an error the jobs may run on.
func EndForeign(path string) (pid int, left []messages.Survivor, err error) {
	dir, err := openDir(path, false)
	if err != nil {
		if _, serr := os.Lstat(path); errors.Is(serr, os.ErrNotExist) {
			err = nil
		}
		return 0, nil, err
	}
	kept, err := isKept(dir)
	_ = dir.Close()
	if err != nil || !kept {
		return 0, nil, err
	}
	c, h, err := greetForeign(path)
	switch {
	case errors.Is(err, errSameProtocol), errors.Is(err, errNoKeeper), errors.Is(err, os.ErrNotExist): // it ended meanwhile
		return 0, nil, nil
	case err != nil:
		return 0, nil, err
	}
	left, err = askEnd(c)
	c.close()
	if err == nil && len(left) == 0 {
		err = SetAside(path)
	}
	return h.PID, left, err
}

// greetForeign connects to a keeper of another protocol.
func greetForeign(path string) (*conn, hello, error) {
	name, err := newID()
	if err != nil {
		return nil, hello{}, err
	}
	f := &connector{o: ClientOptions{Dir: path}}
	me := hello{Proto: protocol, BootID: bootID(), Client: name, End: true}
	c, h, err := f.connect(me)
	if errors.Is(err, errProtocol) {
		me.Proto = protocolBefore
		c, h, err = f.connect(me)
	}
	return c, h, err
}

// askEnd sends askClose, and waits for the answer. Frame, request and answer have the same form in
// each protocol; only the body of the answer may have another.
func askEnd(c *conn) ([]messages.Survivor, error) {
	m := message{kind: askClose, gen: 1}
	if err := c.trySend(appendPart(appendHead(nil, 1, 0), &m), nil); err != nil {
		return nil, err
	}
	c.setReadDeadline(time.Now().Add(endBound))
	for {
		p, files, err := c.recv()
		closeAll(files)
		if err != nil {
			return nil, fmt.Errorf("the keeper did not confirm the end of its jobs: %w", err)
		}
		if p[0] == frameError {
			_, err = parseHello(p)
			return nil, err
		}
		f, err := parseFrame(p)
		if err != nil {
			return nil, err
		}
		for _, m := range f.parts {
			if m.kind == sayClosed {
				return survivorsOf(m), nil
			}
		}
	}
}

// survivorsOf returns the processes that a keeper of another protocol could not stop. Where its list
// cannot be read, that is one without a number.
func survivorsOf(m message) []messages.Survivor {
	if len(m.body) == 0 && !m.big {
		return nil
	}
	left, err := decode[[]messages.Survivor](m.body)
	if err != nil {
		return []messages.Survivor{{Why: "the keeper of another version does not say which; ps lists the processes"}}
	}
	return left
}

// SetAside renames the journal of another version, after all jobs of that keeper were ended: the
// next keeper begins a new one. It waits for the end of the keeper.
func SetAside(path string) error {
	dir, err := openDir(path, false)
	if err != nil {
		if _, serr := os.Lstat(path); errors.Is(serr, os.ErrNotExist) {
			return nil // the keeper of a single job has removed it
		}
		return err
	}
	defer dir.Close()
	if _, _, err := readJournal(dir); !errors.Is(err, errOtherJournal) {
		return err
	}
	lease, err := takeLease(dir, leaseBound)
	if err != nil {
		return err
	}
	defer lease.Close()
	return withFd(dir, func(fd int) error { return unix.Renameat(fd, journalName, fd, journalName+".old") })
}
