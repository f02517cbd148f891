package keeper_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"troupe/backends/keeper"
	"troupe/messages"
)

// laterArg has this program play a keeper of a later protocol.
const laterArg = "a keeper of a later protocol"

// A keeper of another protocol and its client refuse each other by name; the keeper takes nothing but the request for its
// end, which ends its jobs.
func TestAKeeperOfALaterProtocol(t *testing.T) {
	dir := keeperDir(t)
	process := exec.Command(self(t), laterArg, dir)
	process.Stderr = os.Stderr
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, "its socket", func() bool {
		_, err := os.Stat(filepath.Join(dir, "keeper.sock"))
		return err == nil
	})
	main := keeper.StartForeign(t, dir, shell(newUID(), "exec sleep 600"))

	_, err := keeper.Open(t.Context(), keeper.ClientOptions{Dir: dir, Program: []string{self(t), roleArg}})
	for _, part := range []string{dir, "speaks version 9 of its protocol", "the client version 3", "nothing is started", "troupe shutdown --stop-jobs"} {
		if !errors.Is(err, &messages.Error{Code: messages.Unsupported, Reason: "protocol"}) || !strings.Contains(err.Error(), part) {
			t.Errorf("the client says %v, without %q", err, part)
		}
	}
	if err := keeper.AskForeign(t, dir); !errors.Is(err, &messages.Error{Code: messages.Unsupported}) {
		t.Errorf("the keeper says %v", err)
	}
	if startTime(main) == "" {
		t.Error("its job has ended")
	}

	pid, left, err := keeper.EndForeign(dir)
	if pid != process.Process.Pid || len(left) > 0 || err != nil {
		t.Errorf("ended %d, left %v, %v", pid, left, err)
	}
	if startTime(main) != "" {
		t.Error("its job lives")
	}
	if err := process.Wait(); err != nil {
		t.Error(err)
	}
}

// The keeper of this protocol keeps its jobs and its client.
func TestAKeeperOfThisProtocolIsNotEnded(t *testing.T) {
	dir := keeperDir(t)
	c := open(t, dir)
	defer c.Close(false)
	if pid, left, err := keeper.EndForeign(dir); pid != 0 || len(left) > 0 || err != nil {
		t.Errorf("ended %d, left %v, %v", pid, left, err)
	}
	if err := c.Ping(); err != nil {
		t.Error(err)
	}
	if pid, _, err := keeper.EndForeign(filepath.Join(dir, "none")); pid != 0 || err != nil {
		t.Errorf("without a directory: %d, %v", pid, err)
	}
}
