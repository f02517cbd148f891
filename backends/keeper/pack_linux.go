package keeper

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// bodySeals keep a body in a memfd from changes by sender and receiver.
const bodySeals = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE | unix.F_SEAL_SEAL

// pack prepares a message for sending: it moves a body that is too large for a frame
// into a sealed memfd.
func (m message) pack() (message, error) {
	if len(m.body) <= maxPart {
		return m, nil
	}
	if len(m.body) > maxBody {
		return m, unix.EMSGSIZE
	}
	fd, err := unix.MemfdCreate("troupe-body", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|unix.MFD_NOEXEC_SEAL)
	if err == unix.EINVAL { // before Linux 6.3
		fd, err = unix.MemfdCreate("troupe-body", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	}
	if err != nil {
		return m, err
	}
	f := os.NewFile(uintptr(fd), "body")
	if _, err = f.Write(m.body); err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, bodySeals)
	}
	if err != nil {
		_ = f.Close()
		return m, err
	}
	m.file, m.big, m.body = f, true, nil
	return m, nil
}

// unpack reads a body from the message's descriptor, and closes that. It refuses one
// without seals.
func (m message) unpack() (message, error) {
	if m.lost {
		return m, noRoom(errors.New("no descriptor is free for what comes with a message"))
	}
	if !m.big {
		return m, nil
	}
	defer m.file.Close()
	size := int64(0)
	err := withFd(m.file, func(fd int) error {
		seals, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
		if err != nil || seals&bodySeals != bodySeals {
			return malformed("a body that is not sealed")
		}
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			return err
		}
		size = st.Size
		return nil
	})
	if err != nil {
		return m, err
	}
	if size > maxBody {
		return m, malformed("a body of more than 64 MiB")
	}
	m.body = make([]byte, size)
	if _, err := m.file.ReadAt(m.body, 0); err != nil {
		return m, malformed("a body that cannot be read: " + err.Error())
	}
	m.file, m.big = nil, false
	return m, nil
}
