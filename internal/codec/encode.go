package codec

import "github.com/fxamacker/cbor/v2"

// Strings may hold any bytes, as paths and commands do. Times are in UTC, to the nanosecond.
var (
	encoding = must(cbor.EncOptions{Time: cbor.TimeRFC3339NanoUTC}.EncMode())
	decoding = must(cbor.DecOptions{DupMapKey: cbor.DupMapKeyEnforcedAPF, UTF8: cbor.UTF8DecodeInvalid, MaxArrayElements: maxList}.DecMode())
)

// maxList bounds a list: the kernel takes fewer arguments of a program.
const maxList = 1 << 20

// must returns a mode: its options are constant.
func must[T any](mode T, err error) T {
	if err != nil {
		panic(err)
	}
	return mode
}

// Encode returns the encoding of a value. Fields without a value are left out. It fails for a
// time after the year 9999.
func Encode(v any) ([]byte, error) { return encoding.Marshal(v) }

// Decode sets v, a pointer, from an encoding that is complete and has no key twice.
func Decode(b []byte, v any) error { return decoding.Unmarshal(b, v) }
