package backends

import (
	"time"

	"troupe/messages"
)

// Control is something a running process can be asked: the sealed set below.
type Control interface{ control() }

// The controls.
type (
	// Input gives bytes to standard input; answered by InputWritten when the
	// kernel has taken all of them.
	Input struct {
		Data []byte
		Raw  bool
	}
	// CloseInput ends standard input, behind all input given before.
	CloseInput struct{}
	// CheckInput has the job looked at for so long: InputAwaited says when it waits for
	// input, and when no longer. It is refused with no_input if the job can never wait,
	// with unsupported where that cannot be seen.
	CheckInput struct{ For time.Duration }
	// Resize changes the size of the terminal.
	Resize struct{ Size messages.Terminal }
	// Signal sends a signal (without SIG) to the main process or the tree.
	Signal struct {
		Name string
		Tree bool
	}
	// ResetTerminal restores the terminal's modes from the master side.
	ResetTerminal struct{}
	// Deadline replaces Spec.Deadline: After from now, 0 for none.
	Deadline struct{ After time.Duration }
	// Pause stops the capture of output: the job blocks when its pipe is full.
	Pause struct{}
	// Resume goes on with it.
	Resume struct{}
	// Sequenced is any of these, whose answer has the number Nth, which is not 0: it waits
	// for no other, as a signal need not wait for input that the job does not read.
	Sequenced struct {
		Control
		Nth uint64
	}
)

func (Input) control()         {}
func (CloseInput) control()    {}
func (CheckInput) control()    {}
func (Resize) control()        {}
func (Signal) control()        {}
func (ResetTerminal) control() {}
func (Deadline) control()      {}
func (Pause) control()         {}
func (Resume) control()        {}

// Number is a control without its number, and that; 0: it has none.
func Number(c Control) (Control, uint64) {
	if n, is := c.(Sequenced); is {
		return n.Control, n.Nth
	}
	return c, 0
}

// DeliverAnswered says the answers of a list that can be told, and returns the rest: of tells
// the number of each, and whether it is known. One without a number waits until those
// without one before it are known.
func DeliverAnswered[A any](list []*A, of func(*A) (nth uint64, known bool), say func(*A)) []*A {
	rest, waits := list[:0], false
	for _, a := range list {
		nth, known := of(a)
		if known && (nth > 0 || !waits) {
			say(a)
			continue
		}
		waits = waits || nth == 0
		rest = append(rest, a)
	}
	clear(list[len(rest):])
	return rest
}
