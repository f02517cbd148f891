package hostile

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
)

// Main runs a process of a tree if args (os.Args[1:]) request one. The caller then
// exits with code.
func Main(args []string) (code int, ours bool) {
	if len(args) < 3 || args[0] != magic {
		mindHangups()
		return 0, false
	}
	p := player{token: args[1]}
	if err := p.play(Kind(args[2]), args[3:]); err != nil {
		fmt.Fprintln(os.Stderr, "hostile:", err)
		return 1, true
	}
	syscall.Exit(p.code) // at once: under the race detector os.Exit takes a second
	return p.code, true
}

// mindHangups makes jobs of a test program start with the default action of SIGHUP.
// Under nohup they would inherit that it is ignored, as jobs of a library do
// (docs/cli.md).
func mindHangups() {
	if signal.Ignored(syscall.SIGHUP) {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP) // exec resets a caught signal
	}
}

// life bounds the life of every process of a tree, in seconds.
const life = "3600"

// player is one process of a tree.
type player struct {
	token string
	code  int
}

func (p *player) play(role Kind, args []string) error {
	switch role {
	case "root":
		return p.root(args)
	case Orphan: // the middle process of a double fork
		ignore()
		_, err := p.leaf(&syscall.SysProcAttr{Setsid: true})
		return err
	case Daemon:
		return p.run("forked", &syscall.SysProcAttr{Setsid: true})
	case "forked":
		ignore()
		return p.daemon()
	case Ignoring, Group:
		ignore()
		return p.settle()
	case Subreaper:
		return p.subreaper()
	case Hydra:
		return p.hydra(args)
	}
	return fmt.Errorf("unknown role %s", role)
}

// root starts the tree, prints Ready, and stays or leaves.
func (p *player) root(args []string) error {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	kinds := args[2:]
	for i := range n {
		if err := p.start(Kind(kinds[i%len(kinds)])); err != nil {
			return err
		}
	}
	if _, err := syscall.Write(1, []byte(Ready)); err != nil {
		return err
	}
	if args[1] == "true" {
		p.code = LeaveCode
		return nil
	}
	return p.become()
}

// start starts one root and returns when all of it runs.
func (p *player) start(k Kind) error {
	var err error
	switch k {
	case Plain:
		_, err = p.leaf(nil)
	case Session:
		_, err = p.leaf(&syscall.SysProcAttr{Setsid: true})
	case Stopped:
		var pid int
		if pid, err = p.leaf(nil); err == nil {
			err = halt(pid)
		}
	case Orphan:
		err = p.run(k, &syscall.SysProcAttr{Setsid: true})
	case Daemon:
		err = p.run(k, nil)
	case Ignoring, Group, Subreaper, Hydra:
		err = p.stand(p.self(k), &syscall.SysProcAttr{Setpgid: k == Group, Setsid: k == Hydra})
	case Hopper:
		err = p.stand(p.hopper(), &syscall.SysProcAttr{Setsid: true})
	default:
		err = fmt.Errorf("unknown kind %q", k)
	}
	return err
}

// endings returns the signals that ask a process to end.
func endings() []os.Signal {
	return []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT}
}

// ignore makes this process and all its later children ignore endings; exec preserves
// that.
func ignore() { signal.Ignore(endings()...) }

func (p *player) self(role Kind, args ...string) []string {
	self, err := os.Executable()
	if err != nil {
		self = "/proc/self/exe"
	}
	return append([]string{self, magic, p.token, string(role)}, args...)
}

// sleeper returns the argv of a process that only sleeps; its name is the token.
func (p *player) sleeper() (path string, argv []string, err error) {
	path, err = exec.LookPath("sleep")
	return path, []string{p.token, life}, err
}

// leaf starts a process that only sleeps.
func (p *player) leaf(attr *syscall.SysProcAttr) (int, error) {
	path, argv, err := p.sleeper()
	if err != nil {
		return 0, err
	}
	return syscall.ForkExec(path, argv, &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}, Sys: attr})
}

// become turns this process into one that only sleeps.
func (p *player) become() error {
	path, argv, err := p.sleeper()
	if err != nil {
		return err
	}
	return syscall.Exec(path, argv, os.Environ())
}

// halt stops a child and returns once it has stopped. A child that has not run since
// would take a later TERM first.
func halt(pid int) error {
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return err
	}
	for {
		var is syscall.WaitStatus
		_, err := syscall.Wait4(pid, &is, syscall.WUNTRACED, nil)
		if err == nil && !is.Stopped() {
			return fmt.Errorf("process %d ended instead of stopping", pid)
		}
		if err != syscall.EINTR {
			return err
		}
	}
}

// run runs a role that starts others and ends, and waits for it.
func (p *player) run(role Kind, attr *syscall.SysProcAttr) error {
	argv := p.self(role)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = os.Stdin, os.Stdout, os.Stderr, attr
	return cmd.Run()
}

// A process that stays writes standing to readyFD when it runs, then closes it.
const (
	readyFD  = 3
	standing = "."
)

// stand starts a process that stays, and waits until it runs.
func (p *player) stand(argv []string, attr *syscall.SysProcAttr) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = os.Stdin, os.Stdout, os.Stderr, attr
	cmd.ExtraFiles = []*os.File{w}
	err = cmd.Start()
	w.Close()
	if err != nil {
		return err
	}
	if said, err := io.ReadAll(r); strings.TrimSpace(string(said)) != standing {
		return fmt.Errorf("%s does not run: %q, %w", argv[len(argv)-1], said, err)
	}
	return nil
}

// daemon starts a leaf like a daemon: in a process session of its own, in the root
// directory, without descriptors.
func (p *player) daemon() error {
	path, argv, err := p.sleeper()
	if err != nil {
		return err
	}
	closed := ^uintptr(0)
	_, err = syscall.ForkExec(path, argv, &syscall.ProcAttr{
		Dir: "/", Env: os.Environ(), Files: []uintptr{closed, closed, closed}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	return err
}

// subreaper adopts the orphans of its own tree.
func (p *player) subreaper() error {
	syscall.CloseOnExec(readyFD) // not for the orphan
	if err := adoptOrphans(); err != nil {
		return err
	}
	ignore()
	if err := p.run(Orphan, &syscall.SysProcAttr{Setsid: true}); err != nil {
		return err
	}
	return p.settle()
}

// settle reports that the process runs, and turns into a sleeper.
func (p *player) settle() error {
	syscall.CloseOnExec(readyFD) // the exec closes it
	if _, err := syscall.Write(readyFD, []byte(standing)); err != nil {
		return err
	}
	return p.become()
}

// Bounds of a hydra: two generations of heads, one head for each TERM.
const (
	hydraDepth = 2
	hydraHeads = 2
)

// hydra starts another of its kind for each TERM.
func (p *player) hydra(args []string) error {
	depth := 0
	if len(args) > 0 {
		depth, _ = strconv.Atoi(args[0])
	}
	asked := make(chan os.Signal, 8)
	signal.Notify(asked, syscall.SIGTERM)
	if _, err := syscall.Write(readyFD, []byte(standing)); err != nil {
		return err
	}
	if err := syscall.Close(readyFD); err != nil {
		return err
	}
	for range hydraHeads {
		<-asked
		if depth < hydraDepth {
			// A failure to grow leaves one process less to kill.
			_ = p.stand(p.self(Hydra, strconv.Itoa(depth+1)), &syscall.SysProcAttr{Setsid: true})
		}
	}
	ignore()
	return p.become()
}

// hopper returns the argv of a shell that forks itself away many times, then stays.
func (p *player) hopper() []string {
	return []string{"bash", "--norc", "--noprofile", "-c", `
hop() {
	[ "$1" -gt 0 ] || exec -a "$0" sleep ` + life + `
	read -t 0.004 -u 4
	hop $(($1 - 1)) &
	exit
}
exec 4<> <(:)
echo ` + standing + ` >&3
exec 3>&-
hop 300`, p.token}
}
