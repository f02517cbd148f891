package backends

import (
	"time"

	"troupe/messages"
)

// Control is a request to a running process: the sealed set below.
type Control interface{ control() }

// The controls.
type (
	// Input writes bytes to standard input. InputWritten answers it when the kernel has
	// taken all of them.
	Input struct {
		Data []byte
		Raw  bool
	}
	// CloseInput ends standard input, after all input given before.
	CloseInput struct{}
	// CheckInput observes the job for the duration For. InputWaiting reports when it waits
	// for input, and when it no longer does. It is refused with no_input if the job can
	// never wait, and with unsupported where the platform cannot show it.
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
	// Pause stops the capture of output. The job blocks when its pipe is full.
	Pause struct{}
	// Resume ends a Pause.
	Resume struct{}
	// Sequenced is any other control with the number Nth, which is not 0, for its answer.
	// The answer waits for no other, as a signal need not wait for input.
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

// Number returns a control without its number, and the number; 0: none.
func Number(c Control) (Control, uint64) {
	if n, is := c.(Sequenced); is {
		return n.Control, n.Nth
	}
	return c, 0
}

// DeliverAnswered calls say for the entries of list whose answers may be delivered, and returns
// the others. of returns the number of an entry and whether its answer is known. An entry
// without a number waits for earlier entries without one.
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
