package inject

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"troupe/faults"
)

// The files of a state directory: what the plan has counted, and a line for each fault.
const (
	CountsName = "faults.json"
	ListName   = "faults.jsonl"
)

// state is what a plan keeps in the state directory. It is written before a fault happens, since
// the fault may be the daemon's death.
type state struct {
	counts string
	list   *os.File
	err    error // of the first write that failed
}

func openState(dir string, rules *faults.Injector) (*state, error) {
	s := &state{counts: filepath.Join(dir, CountsName)}
	b, err := os.ReadFile(s.counts)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	default:
		var former map[string]faults.Counts
		if err := json.Unmarshal(b, &former); err != nil {
			return nil, err
		}
		rules.Continue(former)
	}
	s.list, err = os.OpenFile(filepath.Join(dir, ListName), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	return s, err
}

// add writes a fault and the counts. The first error is kept: a fault happens even if it cannot be
// listed.
func (s *state) add(f faults.Fault, rules *faults.Injector) {
	line, err := json.Marshal(f)
	if err == nil {
		_, err = s.list.Write(append(line, '\n'))
	}
	var b []byte
	if err == nil {
		b, err = json.Marshal(rules.Counts())
	}
	if err == nil {
		err = os.WriteFile(s.counts+".new", b, 0o600)
	}
	if err == nil {
		err = os.Rename(s.counts+".new", s.counts)
	}
	s.err = errors.Join(s.err, err)
}
