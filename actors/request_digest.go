package actors

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"troupe/internal/codec"
	"troupe/messages"
)

// digestForm is the prefix of a digest, and changes with what it covers.
const digestForm = "3:"

// digest returns a digest of the stored form of a request, without the fields that differ
// between two tries. Different requests have different digests.
func digest(r messages.RunCommand) string {
	r.UID, r.Key, r.Env.Base = "", "", nil
	if r.Open != nil {
		plan := *r.Open
		plan.Env.Base = nil
		r.Open = &plan
	}
	b, err := codec.Encode(r)
	if err != nil {
		panic(err) // a request has no time, the one value that has no form
	}
	sum := sha256.Sum256(b)
	return digestForm + hex.EncodeToString(sum[:])
}

// sameRequest reports whether a digest is that of a request, as far as it can be compared: an
// older version covered the fields in another form.
func sameRequest(of string, r messages.RunCommand) bool {
	return !strings.HasPrefix(of, digestForm) || of == digest(r)
}
