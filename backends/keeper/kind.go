package keeper

import (
	"fmt"
	"reflect"
	"time"

	"troupe/backends"
	"troupe/internal/codec"
	"troupe/messages"
	"troupe/spill"
)

// kind is the kind of a message.
type kind byte

// Requests of a client.
const (
	askStart     kind = iota + 1 // startRequest
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
	askLive                      // liveRequest; answered
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
	sayLive                      // []liveReply
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
	factStopping
)

// Bodies of requests and answers, beside the facts of package messages.
type (
	// startRequest is a start that is valid until Before, a time of the clock; 0: for ever.
	startRequest struct {
		backends.Spec `cbor:"1,keyasint,omitzero"`
		Before        time.Duration `cbor:"2,keyasint,omitzero"`
	}
	stop struct {
		Cause messages.Cause `cbor:"1,keyasint,omitzero"`
		Grace time.Duration  `cbor:"2,keyasint,omitzero"`
	}
	growthRequest struct {
		Stream messages.Stream `cbor:"1,keyasint,omitzero"`
		From   int64           `cbor:"2,keyasint,omitzero"`
	}
	number struct {
		Seq uint64 `cbor:"1,keyasint,omitzero"`
	}
	wantLog struct {
		Stream messages.Stream `cbor:"1,keyasint,omitzero"`
		Have   string          `cbor:"2,keyasint,omitzero"` // Place of the client's descriptor
		Order  bool            `cbor:"3,keyasint,omitzero"` // asks for the output order: Data holds it, Whole says that it is complete
	}
	logState struct {
		Stream messages.Stream `cbor:"1,keyasint,omitzero"`
		State  spill.State     `cbor:"2,keyasint,omitzero"`
		Place  string          `cbor:"3,keyasint,omitzero"` // identifies the file; "": none yet
		Data   []byte          `cbor:"4,keyasint,omitzero"` // all of a small closed log
		Whole  bool            `cbor:"5,keyasint,omitzero"` // Data is complete
		Order  bool            `cbor:"6,keyasint,omitzero"` // Data is the output order, not a log
	}
	// savedLog is a log that a dead keeper had in memory, as the client knows it.
	savedLog struct {
		Stream messages.Stream `cbor:"1,keyasint,omitzero"`
		State  spill.State     `cbor:"2,keyasint,omitzero"`
	}
	// stateReply is a log in the keeper's list.
	stateReply struct {
		Job    messages.UID    `cbor:"1,keyasint,omitzero"`
		Stream messages.Stream `cbor:"2,keyasint,omitzero"`
		State  spill.State     `cbor:"3,keyasint,omitzero"`
	}
	// liveRequest asks what the processes of jobs do, until Before, a time of the clock.
	liveRequest struct {
		Jobs   []messages.UID `cbor:"1,keyasint,omitzero"`
		Before time.Duration  `cbor:"2,keyasint,omitzero"`
	}
	liveReply struct {
		Job   messages.UID       `cbor:"1,keyasint,omitzero"`
		State messages.LiveState `cbor:"2,keyasint,omitzero"`
	}
	// inventoryReply is a job in the keeper's list.
	inventoryReply struct {
		backends.InventoryJob `cbor:"1,keyasint,omitzero"`
		Separate              bool `cbor:"2,keyasint,omitzero"` // stdout and stderr have their own logs
	}
	control struct {
		Kind  string            `cbor:"1,keyasint,omitzero"`
		Data  []byte            `cbor:"2,keyasint,omitzero"`
		Raw   bool              `cbor:"3,keyasint,omitzero"`
		Size  messages.Terminal `cbor:"4,keyasint,omitzero"`
		Name  string            `cbor:"5,keyasint,omitzero"`
		Tree  bool              `cbor:"6,keyasint,omitzero"`
		After time.Duration     `cbor:"7,keyasint,omitzero"`
		Nth   uint64            `cbor:"8,keyasint,omitzero"` // repeated in its answer; 0: answers come in order
	}
)

// encode returns the body of a value. None of those sent can fail: a test encodes them all.
func encode(v any) []byte {
	body, err := codec.Encode(v)
	if err != nil {
		return nil
	}
	return body
}

// decode returns the value of a body.
func decode[T any](body []byte) (T, error) {
	var v T
	if err := codec.Decode(body, &v); err != nil {
		return v, malformed("a body: " + err.Error())
	}
	return v, nil
}

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
	formOf[messages.ProcessStopping](factStopping),
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
