package dialecthost

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Owner names this process for the tags of its jobs: its pid namespace, where that is known,
// and its pid.
func Owner() string { return fmt.Sprintf("%s-%d", namespace(), os.Getpid()) }

// OwnerLives reports whether the process that Owner has named lives. It is taken to live if it
// is in another pid namespace, where it cannot be seen.
func OwnerLives(owner string) bool {
	space, text, _ := strings.Cut(owner, "-")
	pid, err := strconv.Atoi(text)
	if err != nil || pid <= 0 || space != namespace() {
		return true
	}
	return !errors.Is(unix.Kill(pid, 0), unix.ESRCH)
}

// namespace returns the number of the pid namespace, "0" if it is not known.
func namespace() string {
	link, err := os.Readlink("/proc/self/ns/pid") // pid:[4026531836]
	if err != nil {
		return "0"
	}
	return strings.Trim(strings.TrimPrefix(link, "pid:"), "[]")
}
