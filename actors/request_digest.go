package actors

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"troupe/messages"
)

// digestForm stands before a digest of what a request says, without what it leaves out:
// a version whose requests can say more has the same. One without it is of all fields.
const digestForm = "2:"

// digest tells two requests under one key apart.
func digest(r messages.RunCommand) string {
	r = comparable(r)
	said := trimmed(r).(map[string]any)
	if r.Open != nil { // also one that says nothing
		said["Open"] = trimmed(*r.Open)
	}
	return digestForm + sumOf(said)
}

// sameRequest says whether a digest is that of a request, also one that an older version
// has made.
func sameRequest(of string, r messages.RunCommand) bool {
	if strings.HasPrefix(of, digestForm) {
		return of == digest(r)
	}
	return of == sumOf(comparable(r))
}

// comparable is a request without what may be otherwise at another try.
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

// asJSON writes what can always be written: a message, or a part of one.
func asJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// trimmed gives the fields of a struct that are not zero, by their names.
func trimmed(v any) any {
	d := json.NewDecoder(bytes.NewReader(asJSON(v)))
	d.UseNumber() // a duration is more than a float can hold
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
