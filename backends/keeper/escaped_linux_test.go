package keeper

import (
	"os"
	"os/exec"
	"testing"
)

// A process has no environment for a moment in an exec, and when it exits, before it is a zombie.
// It has not escaped.
func TestProcessInAnExecOrExitHasNotEscaped(t *testing.T) {
	for name, forks := range map[string]string{
		"exit": `for i in {1..500}; do (exit) & if ((i % 20 == 0)); then wait; fi; done; wait`,
		"exec": `for i in {1..200}; do /bin/true & if ((i % 20 == 0)); then wait; fi; done; wait`,
	} {
		t.Run(name, func(t *testing.T) { findsNothing(t, forks) })
	}
}

// findsNothing looks for escaped processes while a shell runs children that have the tag of a job.
func findsNothing(t *testing.T, forks string) {
	parent := exec.Command("bash", "--norc", "--noprofile", "-c", forks)
	parent.Env = append(os.Environ(), "TROUPE_TREE=test:job")
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- parent.Wait() }()
	for scans := 0; ; scans++ {
		select {
		case err := <-ended:
			if err != nil || scans == 0 {
				t.Errorf("%v, %d scans", err, scans)
			}
			return
		default:
		}
		s := escapeeScan{mains: map[int]uint64{}}
		if s.below(parent.Process.Pid, 0); len(s.found) > 0 {
			t.Errorf("found %+v", s.found)
		}
	}
}
