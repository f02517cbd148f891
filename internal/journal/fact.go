package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"

	"troupe/internal/codec"
	"troupe/messages"
)

// kinds lists the facts under their stored numbers, which are never reused. A new kind raises
// the Format, so that an older troupe refuses the file.
var kinds = [...]messages.Fact{
	1: messages.CommandQueued{}, 2: messages.CommandStarted{}, 3: messages.CommandPromoted{}, 4: messages.CommandStopping{},
	5: messages.CommandDraining{}, 6: messages.CommandFinished{}, 7: messages.CommandRetired{}, 8: messages.CommandChanged{},
	9: messages.SessionOpened{}, 10: messages.SessionReplaced{}, 11: messages.SessionClosed{},
	12: messages.ScopeOpened{}, 13: messages.ScopeClosed{}, 14: messages.CommandNotified{},
}

// numbers returns the kind of a type of facts.
var numbers = func() map[reflect.Type]uint64 {
	all := map[reflect.Type]uint64{}
	for n, fact := range kinds {
		if fact != nil {
			all[reflect.TypeOf(fact)] = uint64(n)
		}
	}
	return all
}()

// errForm reports bytes that are no encoding of what they should be.
var errForm = errors.New("invalid encoding")

// encodeFact encodes a fact: its kind, then its content, which is the record of a job if it is
// about one.
func encodeFact(fact messages.Fact) ([]byte, error) {
	kind, content := numbers[reflect.TypeOf(fact)], any(fact)
	if kind == 0 {
		return nil, fmt.Errorf("the journal cannot encode a %T", fact)
	}
	if about, is := fact.(messages.CommandFact); is {
		content = about.Record()
	}
	body, err := codec.Encode(content)
	return append(binary.AppendUvarint(nil, kind), body...), err
}

// decodeFact decodes the form of encodeFact. An unknown kind is ErrNewer.
func decodeFact(b []byte) (messages.Fact, error) {
	kind, size := binary.Uvarint(b)
	switch {
	case size <= 0 || kind == 0:
		return nil, errForm
	case kind >= uint64(len(kinds)):
		return nil, fmt.Errorf("unknown kind %d of a fact: %w", kind, ErrNewer)
	}
	if about, is := kinds[kind].(messages.CommandFact); is {
		job, err := decode[messages.Record](b[size:])
		return about.With(job).(messages.Fact), err
	}
	v := reflect.New(reflect.TypeOf(kinds[kind]))
	err := decodeInto(b[size:], v.Interface())
	return v.Elem().Interface().(messages.Fact), err
}

// decode returns the value of an encoding, or errForm.
func decode[T any](b []byte) (v T, err error) {
	err = decodeInto(b, &v)
	return v, err
}

func decodeInto(b []byte, v any) error {
	if err := codec.Decode(b, v); err != nil {
		return fmt.Errorf("%w: %w", errForm, err)
	}
	return nil
}
