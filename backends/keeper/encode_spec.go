package keeper

import (
	"encoding/binary"
	"time"

	"troupe/backends"
)

// encodeSpec returns the body of a start: arguments, variables and paths, each after
// its length, then the rest. before is the time of the keeper's clock after which the
// start is refused; 0: never.
func encodeSpec(s backends.Spec, before time.Duration) []byte {
	size := 4 * (5 + len(s.Argv) + len(s.Env))
	for _, list := range [][]string{s.Argv, s.Env, {s.Dir, s.Program, s.Script}} {
		for _, word := range list {
			size += len(word)
		}
	}
	p := make([]byte, 0, size+512)
	p = appendStrings(p, s.Argv)
	p = appendStrings(p, s.Env)
	p = appendStrings(p, []string{s.Dir, s.Program, s.Script})
	s.Argv, s.Env, s.Dir, s.Program, s.Script = nil, nil, "", "", ""
	p, _ = appendBody(p, startRequest{s, before})
	return p
}

// startRequest is a start that is valid until Before.
type startRequest struct {
	backends.Spec
	Before time.Duration
}

func appendStrings(p []byte, list []string) []byte {
	p = binary.LittleEndian.AppendUint32(p, uint32(len(list)))
	for _, s := range list {
		p = binary.LittleEndian.AppendUint32(p, uint32(len(s)))
		p = append(p, s...)
	}
	return p
}

func decodeSpec(p []byte) (startRequest, error) {
	var lists [3][]string
	for i := range lists {
		var err error
		if lists[i], p, err = takeStrings(p); err != nil {
			return startRequest{}, err
		}
	}
	s, err := decode[startRequest](p)
	if err != nil || len(lists[2]) != 3 {
		return s, malformed("the start of a job")
	}
	s.Argv, s.Env = lists[0], lists[1]
	s.Dir, s.Program, s.Script = lists[2][0], lists[2][1], lists[2][2]
	return s, nil
}

func takeStrings(p []byte) (list []string, rest []byte, err error) {
	cut := malformed("the words of a job are cut off")
	if len(p) < 4 {
		return nil, nil, cut
	}
	n := uint64(binary.LittleEndian.Uint32(p))
	if p = p[4:]; n > uint64(len(p)/4) {
		return nil, nil, cut
	}
	list = make([]string, 0, n)
	for range n {
		if len(p) < 4 {
			return nil, nil, cut
		}
		size := uint64(binary.LittleEndian.Uint32(p))
		if p = p[4:]; size > uint64(len(p)) {
			return nil, nil, cut
		}
		list = append(list, string(p[:size]))
		p = p[size:]
	}
	return list, p, nil
}
