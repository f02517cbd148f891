//go:build linux

package engine

import (
	"testing"
	"unsafe"
)

// What the engine holds of a job that says nothing is as small as it was made: thousands
// are alive at a time, and the allocator has room for few sizes (docs/decisions/035).
func TestSizesOfAJob(t *testing.T) {
	for name, c := range map[string]struct{ is, most uintptr }{
		"job": {unsafe.Sizeof(job{}), 520}, "stream": {unsafe.Sizeof(stream{}), 224},
		"input": {unsafe.Sizeof(input{}), 96}, "terminal": {unsafe.Sizeof(terminal{}), 80},
	} {
		if c.is > c.most {
			t.Errorf("%s has %d bytes, more than %d", name, c.is, c.most)
		}
	}
}
