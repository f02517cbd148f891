package console

// mostHistory bounds the inputs that a history keeps.
const mostHistory = 500

// history holds the inputs of a console, oldest first.
type history struct {
	inputs []input
	at     int   // the one that is shown; len(inputs): the draft
	draft  input // what was typed before the first step back
}

// add appends an input that was submitted. Repeats are kept once.
func (h *history) add(i input) {
	if n := len(h.inputs); n == 0 || h.inputs[n-1] != i {
		h.inputs = append(h.inputs, i)
	}
	h.inputs = h.inputs[max(0, len(h.inputs)-mostHistory):]
	h.at = len(h.inputs)
}

// step returns the input that is by inputs later than the shown one (earlier if by is negative).
// now is what the composer shows.
func (h *history) step(by int, now input) (input, bool) {
	to := h.at + by
	if to < 0 || to > len(h.inputs) || to == h.at {
		return now, false
	}
	if h.at == len(h.inputs) {
		h.draft = now
	}
	h.at = to
	if to == len(h.inputs) {
		return h.draft, true
	}
	return h.inputs[to], true
}

// commands returns the texts of the commands that begin with prefix, newest first, each once.
func (h *history) commands(prefix string) []string {
	var found []string
	seen := map[string]bool{prefix: true}
	for n := len(h.inputs) - 1; n >= 0; n-- {
		m, command, err := h.inputs[n].read()
		if m == asMessage || err != nil || seen[command] || len(command) < len(prefix) || command[:len(prefix)] != prefix {
			continue
		}
		seen[command] = true
		found = append(found, command)
	}
	return found
}
