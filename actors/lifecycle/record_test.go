package lifecycle

import (
	"testing"
	"unsafe"

	"troupe/messages"
)

// A record that stays is of another size to the allocator than a copy of it.
func TestRecordsThatStayLieApart(t *testing.T) {
	room := func(size uintptr) int { return cap(append([]byte(nil), make([]byte, size)...)) }
	if stays, goes := room(unsafe.Sizeof(record{})), room(unsafe.Sizeof(messages.Job{})); stays == goes {
		t.Errorf("both take %d bytes", stays)
	}
}
