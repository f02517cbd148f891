package shell

import (
	"crypto/rand"
	"encoding/binary"
	"time"

	"troupe/messages"
)

// newULID makes a ULID for a shell: 48 bits of time, 80 random bits.
func newULID() messages.UID {
	var raw [16]byte
	_, _ = rand.Read(raw[6:]) // it never fails
	ms := uint64(time.Now().UnixMilli())
	binary.BigEndian.PutUint16(raw[:], uint16(ms>>32))
	binary.BigEndian.PutUint32(raw[2:], uint32(ms))
	const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	high, low := binary.BigEndian.Uint64(raw[:]), binary.BigEndian.Uint64(raw[8:])
	var text [26]byte
	for i := len(text) - 1; i >= 0; i-- {
		text[i] = digits[low&31]
		low = low>>5 | high<<59
		high >>= 5
	}
	return messages.UID(text[:])
}
