package actors

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"troupe/messages"
)

// digestForm is the prefix of a digest of the set fields of a request, which new fields do not
// change. A digest without it covers all fields.
const digestForm = "2:"

// digest returns a digest of a request. Different requests have different digests.
func digest(r messages.RunCommand) string {
	r = comparable(r)
	said := trimmed(r).(map[string]any)
	if r.Open != nil { // also if it is empty
		said["Open"] = trimmed(*r.Open)
	}
	return digestForm + sumOf(said)
}

// sameRequest reports whether a digest is that of a request. It knows the digests of older
// versions.
func sameRequest(of string, r messages.RunCommand) bool {
	if strings.HasPrefix(of, digestForm) {
		return of == digest(r)
	}
	return of == sumOf(comparable(r))
}

// comparable returns a request without the fields that differ between two tries.
func comparable(r messages.RunCommand) messages.RunCommand {
	r.BaseEnv, r.UID = nil, ""
	if r.Open != nil {
		plan := *r.Open
		plan.BaseEnv = nil
		r.Open = &plan
	}
	return r
}

func sumOf(v any) string {
	sum := sha256.Sum256(asJSON(v))
	return hex.EncodeToString(sum[:])
}

// asJSON encodes a message or a part of one, which cannot fail.
func asJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// trimmed returns the set fields of a struct by name.
func trimmed(v any) any {
	d := json.NewDecoder(bytes.NewReader(asJSON(v)))
	d.UseNumber() // a float cannot hold every duration
	var all any
	if err := d.Decode(&all); err != nil {
		panic(err)
	}
	return trim(all)
}

func trim(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, field := range v {
			if field = trim(field); isSet(field) {
				v[name] = field
			} else {
				delete(v, name)
			}
		}
	case []any:
		for i := range v {
			v[i] = trim(v[i])
		}
	}
	return v
}

// isSet reports whether a field is not zero.
func isSet(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) > 0
	case []any:
		return len(v) > 0
	case json.Number:
		return v != "0"
	}
	return v != nil && v != "" && v != false
}
