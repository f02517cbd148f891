package keeper

import (
	"fmt"
	"reflect"
	"time"

	"troupe/backends"
	"troupe/messages"
	"troupe/spill"
)

// kind is the kind of a message.
type kind byte

// Requests of a client.
const (
	askStart     kind = iota + 1 // encodeSpec
	askAdopt                     // nothing
	askRelease                   // nothing
	askDo                        // control
	askStop                      // stop
	askWatch                     // watch
	askNote                      // bytes
	askSettle                    // number
	askRemove                    // nothing: removes the logs of an ended job
	askLog                       // wantLog; answered
	askInventory                 // nothing; answered
	askClose                     // nothing; answered
	askDone                      // nothing; answered after all earlier requests
	askStates                    // []messages.UID: states of these jobs' logs; answered
	askSave                      // savedLog, with its descriptor: a log of a dead keeper
)

// Messages of a keeper beside facts.
const (
	sayResync   kind = iota + 32 // messages were dropped: the client binds all jobs again
	sayReplaced                  // another client has taken over
	sayGone                      // the adopted job is unknown
	sayRefused                   // messages.Error, to a call or to nothing
	sayLogs                      // []logState: closed logs of a job
	sayLog                       // logState, with its descriptor
	sayHeld                      // []held; more follow
	sayListed                    // []held; the last
	sayClosed                    // []messages.Survivor
	sayDone                      // to askDone
	sayFlush                     // acknowledge now
	sayStates                    // []stated; more follow
	sayStated                    // []stated; the last
)

// Kinds of facts.
const (
	factStarted kind = iota + 64
	factFailed
	factMain
	factExited
	factLost
	factClosed
	factEnded
	factGrew
	factAwaited
	factBlocked
	factFlagged
	factDone
	factRefused
	factWritten
)

// Bodies of requests and answers.
type (
	stop struct {
		Cause messages.Cause
		Grace time.Duration
	}
	growthRequest struct {
		Stream messages.Stream
		From   int64
	}
	number  struct{ Seq uint64 }
	wantLog struct {
		Stream messages.Stream
		Have   string // Place of the client's descriptor
		Order  bool   // asks for the output order: Data holds it, Whole says that it is complete
	}
	logState struct {
		Stream messages.Stream
		State  spill.State
		Place  string // identifies the file; "": none yet
		Data   []byte // all of a small closed log
		Whole  bool   // Data is complete
		Order  bool   // Data is the output order, not a log
	}
	// savedLog is a log that a dead keeper had in memory, as the client knows it.
	savedLog struct {
		Stream messages.Stream
		State  spill.State
	}
	// stateReply is a log in the keeper's list.
	stateReply struct {
		Job    messages.UID
		Stream messages.Stream
		State  spill.State
	}
	// inventoryReply is a job in the keeper's list.
	inventoryReply struct {
		backends.InventoryJob `wire:"Held"`
		Separate              bool // stdout and stderr have their own logs
	}
	control struct {
		Kind  string
		Data  []byte
		Raw   bool
		Size  messages.Terminal
		Name  string
		Tree  bool
		After time.Duration
		Nth   uint64 // repeated in its answer; 0: an older client, which gets answers in order
	}
)

// wireControl returns a control as sent.
func wireControl(c backends.Control) control {
	plain, nth := backends.Number(c)
	w := wireOf(plain)
	w.Nth = nth
	return w
}

func wireOf(c backends.Control) control {
	switch c := c.(type) {
	case backends.Input:
		return control{Kind: "input", Data: c.Data, Raw: c.Raw}
	case backends.CloseInput:
		return control{Kind: "close_input"}
	case backends.CheckInput:
		return control{Kind: "await_input", After: c.For}
	case backends.Resize:
		return control{Kind: "resize", Size: c.Size}
	case backends.Signal:
		return control{Kind: "signal", Name: c.Name, Tree: c.Tree}
	case backends.ResetTerminal:
		return control{Kind: "reset_terminal"}
	case backends.Deadline:
		return control{Kind: "deadline", After: c.After}
	case backends.Pause:
		return control{Kind: "pause"}
	case backends.Resume:
		return control{Kind: "resume"}
	}
	return control{}
}

// engineControl returns the control of a message; nil: unknown.
func (c control) engineControl() backends.Control {
	plain := c.plain()
	if plain == nil || c.Nth == 0 {
		return plain
	}
	return backends.Sequenced{Control: plain, Nth: c.Nth}
}

func (c control) plain() backends.Control {
	switch c.Kind {
	case "input":
		return backends.Input{Data: c.Data, Raw: c.Raw}
	case "close_input":
		return backends.CloseInput{}
	case "await_input":
		return backends.CheckInput{For: c.After}
	case "resize":
		return backends.Resize{Size: c.Size}
	case "signal":
		return backends.Signal{Name: c.Name, Tree: c.Tree}
	case "reset_terminal":
		return backends.ResetTerminal{}
	case "deadline":
		return backends.Deadline{After: c.After}
	case "pause":
		return backends.Pause{}
	case "resume":
		return backends.Resume{}
	}
	return nil
}

// factForm is the kind of a fact, and how its body is read.
type factForm struct {
	kind   kind
	of     reflect.Type
	decode func(body []byte) (messages.ProcessFact, error)
}

func formOf[F messages.ProcessFact](k kind) factForm {
	return factForm{k, reflect.TypeFor[F](), func(body []byte) (messages.ProcessFact, error) { return decode[F](body) }}
}

// factForms are the facts that an engine reports.
var factForms = []factForm{
	formOf[messages.ProcessStarted](factStarted),
	formOf[messages.ProcessFailed](factFailed),
	formOf[messages.MainExited](factMain),
	formOf[messages.ProcessExited](factExited),
	formOf[messages.ProcessLost](factLost),
	formOf[messages.OutputClosed](factClosed),
	formOf[messages.TreeEnded](factEnded),
	formOf[messages.OutputGrew](factGrew),
	formOf[messages.InputWaiting](factAwaited),
	formOf[messages.LogBlocked](factBlocked),
	formOf[messages.LogFlagged](factFlagged),
	formOf[messages.ControlDone](factDone),
	formOf[messages.ControlRefused](factRefused),
	formOf[messages.InputWritten](factWritten),
}

// factKind returns the kind of a fact; 0: no engine reports it.
func factKind(f messages.ProcessFact) kind {
	for _, form := range factForms {
		if form.of == reflect.TypeOf(f) {
			return form.kind
		}
	}
	return 0
}

// parseFact decodes a fact.
func parseFact(k kind, body []byte) (messages.ProcessFact, error) {
	for _, form := range factForms {
		if form.kind == k {
			return form.decode(body)
		}
	}
	return nil, unknownKind(k)
}

func unknownKind(k kind) *messages.Error {
	return refused(messages.Unsupported, "message", fmt.Sprintf("a message of the kind %d is not known on this side of the keeper's socket", k),
		"both sides must be of one version: restart the older one")
}
