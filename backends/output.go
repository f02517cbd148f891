package backends

import (
	"troupe/messages"
	"troupe/spill"
)

// AddOutput appends the file and the gaps of an output to list. Most outputs have neither, and
// list stays as it is.
func AddOutput(list []messages.OutputState, stream messages.Stream, st spill.State) []messages.OutputState {
	if st.File == "" && len(st.Gaps) == 0 {
		return list
	}
	return append(list, messages.OutputState{Stream: stream, File: st.File, Elided: Elided(st)})
}

// Elided returns the gaps of an output in the form of records.
func Elided(st spill.State) []messages.OutputGap {
	var list []messages.OutputGap
	for _, g := range st.Gaps {
		list = append(list, messages.OutputGap{From: g.From, To: g.To})
	}
	return list
}
