package actors

import (
	"testing"
	"unsafe"

	"troupe/actors/workers"
	"troupe/messages"
)

// What the tree holds of a job is as small as it was made: thousands are alive at a
// time, and the allocator has room for few sizes (docs/decisions/035).
func TestSizesOfAJob(t *testing.T) {
	for name, c := range map[string]struct{ is, most uintptr }{
		"record": {unsafe.Sizeof(messages.Record{}), 864}, "stream": {unsafe.Sizeof(messages.StreamOutput{}), 64},
		"entry": {unsafe.Sizeof(jobEntry{}), 144}, "ticket": {unsafe.Sizeof(ticket{}), 176}, "command": {unsafe.Sizeof(command{}), 240},
		"terminal": {unsafe.Sizeof(terminal{}), 80}, "mailbox": {unsafe.Sizeof(workers.Mailbox{}), 112},
	} {
		if c.is > c.most {
			t.Errorf("%s has %d bytes, more than %d", name, c.is, c.most)
		}
	}
}
