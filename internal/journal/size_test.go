package journal

import (
	"testing"
	size "unsafe"
)

// What a journal in memory holds of a job is as small as it was made (docs/decisions/035).
func TestSizesOfAPackedFact(t *testing.T) {
	for name, c := range map[string]struct{ is, most uintptr }{
		"packed": {size.Sizeof(packedJob{}), 80}, "identity": {size.Sizeof(packedIdentity{}), 192}, "beginning": {size.Sizeof(packedStart{}), 96},
		"ending": {size.Sizeof(packedEnd{}), 144}, "known": {size.Sizeof(memoryJob{}), 48},
	} {
		if c.is > c.most {
			t.Errorf("%s has %d bytes, more than %d", name, c.is, c.most)
		}
	}
}
