package spill

import (
	"testing"
	"unsafe"
)

// What the store holds of a log with nothing in it is as small as it was made
// (docs/decisions/035).
func TestSizesOfALog(t *testing.T) {
	for name, c := range map[string]struct{ is, most uintptr }{
		"body": {unsafe.Sizeof(sharedLog{}), 208}, "writer": {unsafe.Sizeof(writer{}), 112}, "job": {unsafe.Sizeof(job{}), 96},
	} {
		if c.is > c.most {
			t.Errorf("%s has %d bytes, more than %d", name, c.is, c.most)
		}
	}
}
