package ports

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"troupe/messages"
)

// tables are the socket tables of a network namespace, and the state of a socket in them that
// takes connections, or datagrams from any sender.
var tables = []struct {
	name     string
	protocol messages.Protocol
	state    string
}{
	{"tcp", messages.TCP, listening}, {"tcp6", messages.TCP, listening}, {"udp", messages.UDP, unconnected}, {"udp6", messages.UDP, unconnected},
}

// States of sockets in /proc/net.
const (
	listening   = "0A"
	unconnected = "07"
)

// sockets calls add with the inode and the local address of each socket of a table in a state.
func sockets(path, state string, add func(inode, local string)) {
	f, err := os.Open(path)
	if err != nil {
		return
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text()) // sl local remote state queues timer retrnsmt uid timeout inode
		if len(fields) > 9 && fields[3] == state {
			add(fields[9], fields[1])
		}
	}
}

// link returns what the descriptor of a socket links to.
func link(inode string) string { return "socket:[" + inode + "]" }

// descriptors calls see with what each descriptor of a process links to, until see returns false.
func descriptors(pid int, see func(link []byte) bool) error {
	dir, err := unix.Open(fmt.Sprintf("/proc/%d/fd", pid), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	var list, link [4096]byte
	for {
		n, err := unix.ReadDirent(dir, list[:])
		if err != nil || n == 0 {
			return err
		}
		_, _, names := unix.ParseDirent(list[:n], -1, nil)
		for _, name := range names {
			if n, err := unix.Readlinkat(dir, name, link[:]); err == nil && !see(link[:n]) {
				return nil
			}
		}
	}
}

// Of returns the ports on which processes of one job listen, at most messages.MaxListening; nil if
// that is unknown. The network namespace is that of the first process that shows its own. Its
// tables are read only for a job that has sockets: the kernel takes milliseconds for them.
func (r *Reader) Of(pids []int) []messages.ListeningPort {
	links, seen, hidden := map[string]bool{}, len(pids) == 0, false
	for _, pid := range pids {
		err := descriptors(pid, func(link []byte) bool {
			if bytes.HasPrefix(link, []byte("socket:")) {
				links[string(link)] = true
			}
			return true
		})
		seen, hidden = seen || err == nil, hidden || errors.Is(err, fs.ErrPermission)
	}
	found := []messages.ListeningPort{}
	if len(links) > 0 {
		known, shown := r.socketsOf(pids)
		if !shown {
			return nil
		}
		for link := range links {
			if p, is := known[link]; is && !slices.Contains(found, p) {
				found = append(found, p)
			}
		}
	}
	if (hidden || !seen) && len(found) == 0 {
		return nil
	}
	slices.SortFunc(found, func(a, b messages.ListeningPort) int {
		return cmp.Or(cmp.Compare(a.Protocol, b.Protocol), cmp.Compare(a.Port, b.Port), cmp.Compare(a.Address, b.Address))
	})
	return found[:min(len(found), messages.MaxListening)]
}

// socketsOf returns the sockets of the processes' network namespace that listen, by link. shown is
// false if no process shows its namespace.
func (r *Reader) socketsOf(pids []int) (known map[string]messages.ListeningPort, shown bool) {
	for _, pid := range pids {
		if space, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", pid)); err == nil {
			return r.socketsIn(space, pid), true
		}
	}
	return nil, false
}

// socketsIn returns the listening sockets of a network namespace, in which a process is.
func (r *Reader) socketsIn(space string, pid int) map[string]messages.ListeningPort {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known, read := r.spaces[space]; read {
		return known
	}
	known := map[string]messages.ListeningPort{}
	for _, t := range tables {
		sockets(fmt.Sprintf("/proc/%d/net/%s", pid, t.name), t.state, func(inode, local string) {
			if at, ok := parseLocal(local); ok {
				known[link(inode)] = messages.ListeningPort{Protocol: t.protocol, Address: at.Addr().String(), Port: int(at.Port())}
			}
		})
	}
	if r.spaces == nil {
		r.spaces = map[string]map[string]messages.ListeningPort{}
	}
	r.spaces[space] = known
	return known
}

// parseLocal parses an address of a socket table, as 0100007F:1F90: words of 32 bits as this
// machine has them in memory.
func parseLocal(text string) (netip.AddrPort, bool) {
	address, port, _ := strings.Cut(text, ":")
	raw, err := hex.DecodeString(address)
	if err != nil || len(raw)%4 != 0 {
		return netip.AddrPort{}, false
	}
	for word := range slices.Chunk(raw, 4) {
		binary.NativeEndian.PutUint32(word, binary.BigEndian.Uint32(word))
	}
	addr, ok := netip.AddrFromSlice(raw)
	n, err := strconv.ParseUint(port, 16, 16)
	return netip.AddrPortFrom(addr, uint16(n)), ok && err == nil
}
