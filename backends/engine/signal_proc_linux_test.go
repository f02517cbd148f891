package engine

import (
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// A signal reaches the process that was meant, and none that has its pid by now (F24).
func TestASignalKnowsItsProcess(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p, ok := statProc(kernel{}, cmd.Process.Pid)
	if !ok {
		t.Fatal("the process is not there")
	}
	other := p
	other.start--
	signalProc(kernel{}, other, unix.SIGKILL)
	signalProc(kernel{}, p, unix.SIGTERM)
	_ = cmd.Wait()
	if how := cmd.ProcessState.String(); how != "signal: terminated" {
		t.Errorf("it ended by %s, which was for a former process of its pid", how)
	}
}
