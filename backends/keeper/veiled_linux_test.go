package keeper

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"troupe/messages"
	"troupe/spill"
)

// Of a log whose file has more than may be seen nothing else is read, even when the
// keeper is asked no more; when it is closed all of it is.
func TestVeiledLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte("seen\x1b]133;D;0"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	refusal := &messages.Error{Code: messages.KeeperUnresponsive, Message: "it is silent"}
	o := newRemoteLog(&Client{outage: &outage{err: refusal}}, "j1", messages.Merged)
	o.update(logState{State: spill.State{Size: 4, Veiled: true}, Place: "a"}, file)
	r := o.reader()
	defer r.Close()
	read := func(off int64, want string) {
		t.Helper()
		p := make([]byte, 100)
		if n, err := r.ReadAt(p, off); string(p[:n]) != want || err != io.EOF {
			t.Errorf("at %d: %q, %v", off, p[:n], err)
		}
	}
	read(0, "seen")
	read(3, "n")
	read(4, "")
	read(9, "")
	p := make([]byte, 2)
	if n, err := r.ReadAt(p, 1); n != 2 || err != nil {
		t.Errorf("within: %d, %v", n, err)
	}
	if st := r.State(); st.Size != 4 {
		t.Errorf("the size is %d", st.Size)
	}
	o.update(logState{State: spill.State{Size: 13, Closed: true}}, nil)
	read(0, "seen\x1b]133;D;0")
}
