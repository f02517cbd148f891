package messages

import (
	"encoding/base64"
	"fmt"
	"reflect"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// objects are the structs whose tags describe the JSON of others.
var objects = map[reflect.Type]reflect.Type{
	reflect.TypeFor[Record]():          reflect.TypeFor[jobObject](),
	reflect.TypeFor[JobFound]():        reflect.TypeFor[jobObject](),
	reflect.TypeFor[CommandPromoted](): reflect.TypeFor[jobObject](),
	reflect.TypeFor[StreamOutput]():    reflect.TypeFor[streamObject](),
	reflect.TypeFor[OutputPage]():      reflect.TypeFor[pageObject](),
	reflect.TypeFor[WriteInput]():      reflect.TypeFor[inputObject](),
	reflect.TypeFor[ShutdownNode]():    reflect.TypeFor[shutdownObject](),
}

// ObjectOf returns the struct whose tags describe the JSON of a type: mostly the type itself.
func ObjectOf(t reflect.Type) reflect.Type {
	if object, is := objects[t]; is {
		return object
	}
	return t
}

// inputObject is the object of WriteInput: one of text, bytes, keys and a paste.
type inputObject struct {
	Data   *string `json:"data,omitzero"`
	Base64 *string `json:"data_base64,omitzero"`
	Keys   *string `json:"keys,omitzero"`
	Paste  *string `json:"paste,omitzero"`
	Raw    bool    `json:"raw,omitzero"`
}

// writeInput writes bytes as text if they are UTF-8. It refuses keys and a paste that are not:
// their host encodes them as text.
func writeInput(e *jsontext.Encoder, r WriteInput) error {
	o, text := inputObject{Raw: r.Raw}, string(r.Data)
	switch {
	case r.Keys != "":
		o.Keys = &r.Keys
	case r.Paste != "":
		o.Paste = &r.Paste
	case utf8.ValidString(text):
		o.Data = &text
	default:
		text = base64.StdEncoding.EncodeToString(r.Data)
		o.Base64 = &text
	}
	for _, typed := range []string{r.Keys, r.Paste} {
		if !utf8.ValidString(typed) {
			bad := Invalid("utf8", fmt.Sprintf("%.64q is not UTF-8 text, which a request to the daemon must be", typed))
			bad.Hint = "write it as data, of which each byte is passed on: troupe write without --paste and --keys"
			return bad
		}
	}
	return json.MarshalEncode(e, &o)
}

func readInput(d *jsontext.Decoder, into *WriteInput) error {
	var o inputObject
	if err := json.UnmarshalDecode(d, &o); err != nil {
		return err
	}
	given := 0
	for _, text := range []*string{o.Data, o.Base64, o.Keys, o.Paste} {
		if text != nil {
			given++
		}
	}
	into.Raw = o.Raw
	switch {
	case given != 1:
		return Invalid("data", "give one of data, data_base64, keys and paste")
	case o.Data != nil:
		into.Data = []byte(*o.Data)
	case o.Keys != nil:
		into.Keys = *o.Keys
	case o.Paste != nil:
		into.Paste = *o.Paste
	default:
		var err error
		if into.Data, err = base64.StdEncoding.DecodeString(*o.Base64); err != nil {
			return Invalid("data_base64", "invalid base64 in data_base64: "+err.Error())
		}
	}
	return nil
}

// shutdownObject is the object of ShutdownNode. Clients ask for the stop of jobs, not for their
// stay.
type shutdownObject struct {
	StopJobs bool          `json:"stop_jobs,omitzero"`
	Grace    time.Duration `json:"grace_ms,omitzero"`
	Reason   string        `json:"reason,omitzero"`
}

func writeShutdown(e *jsontext.Encoder, r ShutdownNode) error {
	return json.MarshalEncode(e, &shutdownObject{StopJobs: !r.KeepJobs, Grace: r.Grace, Reason: r.Reason})
}

func readShutdown(d *jsontext.Decoder, into *ShutdownNode) error {
	var o shutdownObject
	if err := json.UnmarshalDecode(d, &o); err != nil {
		return err
	}
	into.KeepJobs, into.Grace, into.Reason = !o.StopJobs, o.Grace, o.Reason
	return nil
}
