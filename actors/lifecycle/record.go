package lifecycle

import "troupe/messages"

// record is a record that stays, with as much room as puts it among its like: copies of
// records come and go by the thousand when jobs begin, and if those that stay lay
// between them, what the copies took could not be given back.
type record struct {
	messages.Job
	_ [apart]byte
}

// apart makes a record larger than what the allocator takes for as large as a Job: its
// sizes are 128 bytes apart here.
const apart = 128
