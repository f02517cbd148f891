package peer

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Rights are what the kernel allows a process.
type Rights struct {
	numbers map[string]uint64 // of /proc/PID/status
	places  map[string]string // namespaces and root, by name; "": not readable
}

// OwnRights returns those of this process. Without /proc they are none.
func OwnRights() Rights {
	r, _ := rightsOf("self")
	return r
}

// Confinement returns how a process is confined and the one with these rights is not; "" if
// it is not. A process that runs commands through another would leave its confinement. The
// result names a namespace or root of its own, no_new_privs, a filter of system calls, or
// capabilities that it lacks. Landlock cannot be seen; a process without privileges needs
// no_new_privs for it. pid is 0 for a process in a pid namespace that is not seen here.
func (own Rights) Confinement(pid int) string {
	if pid == 0 {
		return "it is in another pid namespace"
	}
	r, err := rightsOf(strconv.Itoa(pid))
	switch {
	case len(own.numbers) == 0:
		return ""
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ESRCH):
		return "it has ended and cannot be checked"
	case err != nil:
		return "it cannot be checked: " + err.Error()
	}
	return r.lacks(own)
}

// OwnConfinement returns how this process is confined and the first process of its pid namespace
// is not: no_new_privs, or a filter of system calls. "" says that neither tells them apart.
func OwnConfinement() string {
	first, err := rightsOf("1")
	if err != nil {
		return ""
	}
	return OwnRights().restricted(first)
}

// namespaces are those that keep a process apart. The others do not matter to a job.
var namespaces = []string{"user", "net", "mnt", "pid"}

func rightsOf(pid string) (Rights, error) {
	r := Rights{numbers: map[string]uint64{}, places: map[string]string{}}
	dir := "/proc/" + pid + "/"
	status, err := os.ReadFile(dir + "status")
	if err != nil {
		return r, err
	}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":\t")
		base := 10
		if strings.HasPrefix(name, "Cap") {
			base = 16
		}
		if n, err := strconv.ParseUint(value, base, 64); err == nil {
			r.numbers[name] = n
		}
	}
	for _, name := range namespaces {
		r.places[name], _ = os.Readlink(dir + "ns/" + name)
	}
	if info, err := os.Stat(dir + "root/."); err == nil {
		stat := info.Sys().(*syscall.Stat_t)
		r.places["root"] = fmt.Sprint(stat.Dev, ":", stat.Ino)
	}
	return r, nil
}

// lacks returns what a process lacks beside another.
func (r Rights) lacks(than Rights) string {
	for _, name := range []string{"CapBnd", "CapPrm"} {
		if lacks := than.numbers[name] &^ r.numbers[name]; lacks != 0 {
			return fmt.Sprintf("it lacks capabilities of the daemon (%s %x)", name, lacks)
		}
	}
	if restricted := r.restricted(than); restricted != "" {
		return restricted
	}
	for _, name := range append(namespaces, "root") {
		at, ours := r.places[name], than.places[name]
		switch {
		case at == ours || ours == "":
		case at != "" && name == "root":
			return "it has another root directory"
		case at != "":
			return "it is in another " + name + " namespace"
		case r.numbers["CapPrm"] == than.numbers["CapPrm"]: // one with more rights cannot be read, and needs no check
			return "its " + name + " namespace cannot be read"
		}
	}
	return ""
}

// restricted returns a restriction of a process that another does not have.
func (r Rights) restricted(than Rights) string {
	switch more := func(name string) bool { return r.numbers[name] > than.numbers[name] }; {
	case more("NoNewPrivs"):
		return "no_new_privs is set for it"
	case more("Seccomp"), more("Seccomp_filters"):
		return "its system calls are filtered"
	}
	return ""
}
