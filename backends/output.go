package backends

import (
	"troupe/messages"
	"troupe/spill"
)

// AddOutput adds to list what is to be told of an output beside its size: where its file
// is, and what was not kept of it. Of most there is nothing.
func AddOutput(list []messages.OutputState, stream messages.Stream, st spill.State) []messages.OutputState {
	if st.File == "" && len(st.Gaps) == 0 {
		return list
	}
	return append(list, messages.OutputState{Stream: stream, File: st.File, Elided: Elided(st)})
}

// Elided are the gaps of an output as records have them.
func Elided(st spill.State) []messages.OutputGap {
	var list []messages.OutputGap
	for _, g := range st.Gaps {
		list = append(list, messages.OutputGap{From: g.From, To: g.To})
	}
	return list
}
