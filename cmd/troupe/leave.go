package main

// leaver looks for the detach keys in what is typed. What may be their beginning waits
// for the next key.
type leaver struct {
	keys  []byte // none: nothing leaves
	begun int    // how many of them were typed
}

// take gives what is to be passed on of what was typed, and says whether the keys were
// all there: what is behind them is for nobody.
func (l *leaver) take(typed []byte) (pass []byte, left bool) {
	if len(l.keys) == 0 {
		return typed, false
	}
	for _, b := range typed {
		if b == l.keys[l.begun] {
			if l.begun++; l.begun == len(l.keys) {
				return pass, true
			}
			continue
		}
		pass = append(pass, l.keys[:l.begun]...)
		if l.begun = 0; b == l.keys[0] {
			l.begun = 1
			continue
		}
		pass = append(pass, b)
	}
	return pass, false
}
