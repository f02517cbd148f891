package peer

import (
	"bufio"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"troupe/internal/test/need"
)

// roleVar makes this program play a process that a test looks at.
const roleVar = "TROUPE_TEST_ROLE"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVar); role != "" {
		play(role)
	}
	os.Exit(m.Run())
}

// play confines this process, says so, and lives until its input ends.
func play(role string) {
	var err error
	switch role {
	case "no_new_privs":
		err = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	case "seccomp":
		allow := []unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K, K: 0x7fff0000}}
		filter := unix.SockFprog{Len: 1, Filter: &allow[0]}
		_, _, n := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&filter)))
		if n != 0 {
			err = n
		}
	case "bounds":
		err = unix.Prctl(unix.PR_CAPBSET_DROP, unix.CAP_SYS_BOOT, 0, 0, 0)
	case "root":
		err = unix.Chroot(os.TempDir())
	case "free":
	}
	if err != nil {
		panic(err)
	}
	os.Stdout.WriteString("ready\n")
	bufio.NewReader(os.Stdin).ReadString('\n')
	os.Exit(0)
}

func TestSecurityConfinementIsSeen(t *testing.T) {
	need.Root(t)
	own := OwnRights().numbers
	const free = 1<<unix.CAP_SYS_ADMIN | 1<<unix.CAP_SYS_BOOT | 1<<unix.CAP_SYS_CHROOT | 1<<unix.CAP_SETPCAP
	need.Feature(t, own["CapPrm"]&free == free && own["NoNewPrivs"] == 0, "a root that is not confined itself")
	for name, c := range map[string]struct {
		role   string
		attr   syscall.SysProcAttr
		reason string
	}{
		"free":              {"free", syscall.SysProcAttr{}, ""},
		"a session":         {"free", syscall.SysProcAttr{Setsid: true}, ""},
		"other uts and ipc": {"free", syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUTS | unix.CLONE_NEWIPC}, ""},
		"no_new_privs":      {"no_new_privs", syscall.SysProcAttr{}, "no_new_privs is set for it"},
		"seccomp":           {"seccomp", syscall.SysProcAttr{}, "its system calls are filtered"},
		"a capability":      {"bounds", syscall.SysProcAttr{}, "it lacks capabilities of the daemon (CapBnd 400000)"},
		"root":              {"root", syscall.SysProcAttr{}, "it has another root directory"},
		"net":               {"free", syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET}, "it is in another net namespace"},
		"mnt":               {"free", syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS}, "it is in another mnt namespace"},
		"pid":               {"free", syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID}, "it is in another pid namespace"},
		"another user":      {"free", syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}, "it lacks capabilities of the daemon (CapPrm"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command("/proc/self/exe")
			cmd.Env = append(os.Environ(), roleVar+"="+c.role)
			cmd.SysProcAttr = &c.attr
			expect(t, cmd, c.reason)
		})
	}
}

func TestSecurityConfinementOfNone(t *testing.T) {
	if got := OwnRights().Confinement(os.Getpid()); got != "" {
		t.Errorf("this process beside itself: %q", got)
	}
	if got := OwnRights().Confinement(0); got == "" {
		t.Error("a process of another pid namespace is not confined")
	}
	cmd := exec.Command("true")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if got := OwnRights().Confinement(cmd.Process.Pid); got == "" {
		t.Error("a process that has ended is not confined")
	}
}

// expect starts a process and compares its confinement.
func expect(t *testing.T, cmd *exec.Cmd, want string) {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		in.Close()
		_ = cmd.Wait()
	}()
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	got := OwnRights().Confinement(cmd.Process.Pid)
	if want == "" && got != "" || want != "" && (len(got) < len(want) || got[:len(want)] != want) {
		t.Errorf("it is %q, want %q", got, want)
	}
}
