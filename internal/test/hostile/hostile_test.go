package hostile_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"

	"troupe/internal/test/hostile"
)

func TestMain(m *testing.M) {
	if code, ours := hostile.Main(os.Args[1:]); ours {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// stand starts a tree and returns when all of it stands.
func stand(t *testing.T, tree hostile.Tree) *exec.Cmd {
	t.Helper()
	argv := tree.Command()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { end(t, tree) })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != hostile.Ready {
		t.Fatalf("the tree does not stand: %q, %v", line, err)
	}
	return cmd
}

// Each kind stands, and does what it is there for when it is asked to end.
func TestKinds(t *testing.T) {
	dies := map[hostile.Kind]bool{hostile.Plain: true, hostile.Session: true}
	for _, k := range hostile.Kinds() {
		t.Run(string(k), func(t *testing.T) {
			tree := hostile.Tree{Roots: 1, Kinds: []hostile.Kind{k}, Token: fmt.Sprint(os.Getpid(), k)}
			cmd := stand(t, tree)
			if k == hostile.Hopper { // seen at several places, and still there
				seen := map[int]bool{}
				until(t, func() bool {
					for _, pid := range tree.Alive() {
						seen[pid] = true
					}
					return len(seen) > 5
				})
				return
			}
			leaves := slices.DeleteFunc(tree.Alive(), func(pid int) bool { return pid == cmd.Process.Pid })
			if len(leaves) == 0 {
				t.Fatal("nobody is there")
			}
			for _, pid := range leaves {
				_ = syscall.Kill(pid, syscall.SIGTERM)
			}
			until(t, func() bool {
				n := len(tree.Alive())
				switch {
				case dies[k]:
					return n == 1
				case k == hostile.Hydra:
					return n > 2
				}
				return n > 1
			})
		})
	}
}

func TestTreeThatLeaves(t *testing.T) {
	tree := hostile.Tree{Roots: 20, Token: fmt.Sprint(os.Getpid(), "leave"), Leave: true}
	cmd := stand(t, tree)
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != hostile.LeaveCode {
		t.Errorf("it left with %d", code)
	}
	until(t, func() bool { return len(tree.Alive()) >= 20 }) // a look may miss some that move
}

// end kills a tree as well as that can be done from here: until it was not seen
// for a while, since a hopper is easily missed.
func end(t *testing.T, tree hostile.Tree) {
	unseen := 0
	until(t, func() bool {
		alive := tree.Alive()
		for _, pid := range alive {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		unseen++
		if len(alive) > 0 {
			unseen = 0
		}
		return unseen > 60 // a busy machine takes its time between a fork and what is executed then
	})
}

func until(t *testing.T, is func() bool) {
	t.Helper()
	limit := time.After(time.Minute)
	for tick := time.NewTicker(10 * time.Millisecond); !is(); {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatal("it never was")
		}
	}
}
