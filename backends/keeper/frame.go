package keeper

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"

	"troupe/messages"
	"troupe/spill"
)

// protocol is the version of the wire format: of the bodies of messages. hello carries it. Each
// version has the same frames, hello, errors and askClose, so that each can end the keepers of
// all others (EndForeign).
const protocol = 3

const (
	// maxFrame bounds a datagram, in bytes; a socket of default size takes it.
	maxFrame = 64 << 10
	// maxPart bounds a body within a datagram. A larger one is sent in a memfd.
	maxPart = 48 << 10
	// maxBody bounds any body: a text of 16 MiB, an environment, and their encoding.
	maxBody = 64 << 20
)

// The first byte of a datagram.
const (
	frameTraffic = 'T' // numbers, then messages
	frameHello   = 'H' // JSON
	frameError   = 'E' // JSON; the sender closes the connection
)

// message is one request, answer or fact.
type message struct {
	kind kind
	gen  uint64 // number of its binding or call
	job  messages.UID
	body []byte
	file *os.File // sent with it
	big  bool     // file holds the body
	safe bool     // send only when the journal is on disk
	lost bool     // its descriptor could not be received
}

// frame is one datagram of messages, numbered from 1: first is the number of the first,
// ack that of the last message received.
type frame struct {
	first, ack uint64
	parts      []message
}

const (
	frameHead = 1 + 8 + 8
	partHead  = 4 + 1 + 1 + 8 + 1 // length of the rest, kind, flags, gen, length of the job's id
	maxID     = 64
)

// Flags of a message.
const (
	flagBig  = 1 << iota // the body is in the descriptor
	flagFile             // a descriptor comes with it
)

func appendHead(p []byte, first, ack uint64) []byte {
	p = append(p, frameTraffic)
	p = binary.LittleEndian.AppendUint64(p, first)
	return binary.LittleEndian.AppendUint64(p, ack)
}

// size returns how many bytes of a frame m takes.
func (m *message) size() int {
	if m.big {
		return partHead + len(m.job)
	}
	return partHead + len(m.job) + len(m.body)
}

func appendPart(p []byte, m *message) []byte {
	flags := byte(0)
	if m.file != nil {
		flags |= flagFile
	}
	body := m.body
	if m.big {
		flags |= flagBig
		body = nil
	}
	p = binary.LittleEndian.AppendUint32(p, uint32(partHead-4+len(m.job)+len(body)))
	p = append(p, byte(m.kind), flags)
	p = binary.LittleEndian.AppendUint64(p, m.gen)
	p = append(p, byte(len(m.job)))
	p = append(p, m.job...)
	return append(p, body...)
}

// parseFrame parses a datagram of messages. Bodies point into p.
func parseFrame(p []byte) (frame, error) {
	if len(p) < frameHead || p[0] != frameTraffic {
		return frame{}, malformed("it is not a frame of messages")
	}
	f := frame{first: binary.LittleEndian.Uint64(p[1:]), ack: binary.LittleEndian.Uint64(p[9:])}
	for rest := p[frameHead:]; len(rest) > 0; {
		if len(rest) < partHead {
			return frame{}, malformed("a message is cut off")
		}
		n := uint64(binary.LittleEndian.Uint32(rest)) + 4
		if n < partHead || n > uint64(len(rest)) {
			return frame{}, malformed("the length of a message is wrong")
		}
		m, err := parsePart(rest[4:n])
		if err != nil {
			return frame{}, err
		}
		f.parts = append(f.parts, m)
		rest = rest[n:]
	}
	for _, m := range f.parts {
		if m.big && len(f.parts) > 1 {
			return frame{}, malformed("a message with a descriptor is not alone")
		}
	}
	return f, nil
}

// parsePart parses a message after its length.
func parsePart(p []byte) (message, error) {
	flags, id := p[1], int(p[10])
	if id > maxID || len(p) < partHead-4+id {
		return message{}, malformed("the id of a message is cut off")
	}
	m := message{kind: kind(p[0]), gen: binary.LittleEndian.Uint64(p[2:]), job: messages.UID(p[11 : 11+id]), body: p[11+id:]}
	if flags&^(flagBig|flagFile) != 0 || flags&flagBig != 0 && (flags&flagFile == 0 || len(m.body) > 0) {
		return message{}, malformed("the flags of a message are unknown")
	}
	m.big, m.lost = flags&flagBig != 0, flags&flagFile != 0
	return m, nil
}

func malformed(what string) *messages.Error {
	return refused(messages.InvalidParams, "frame", "the other side of the keeper's socket sent what cannot be read: "+what,
		"both sides must be of one version: restart the older one")
}

// hello is the first datagram of each side.
type hello struct {
	Proto  int    `json:"proto"`
	Build  string `json:"build"`
	BootID string `json:"boot_id"`
	Heard  uint64 `json:"heard"` // number of the last message received from the other side

	Client  string        `json:"client,omitempty"`  // of a client: its unique name
	End     bool          `json:"end,omitempty"`     // of a client: it only ends a keeper of another protocol
	Storage *spill.Limits `json:"storage,omitempty"` // of a client: limits of the logs

	KeeperID string          `json:"keeper_id,omitempty"` // of a keeper
	PID      int             `json:"pid,omitempty"`
	Resumed  bool            `json:"resumed,omitempty"` // the keeper knows this client
	Features json.RawMessage `json:"features,omitempty"`
	Damage   string          `json:"damage,omitempty"` // of the journal that it found
}

// parseHello parses the first datagram of the other side: its hello, or its error.
func parseHello(p []byte) (hello, error) {
	var h hello
	switch {
	case len(p) > 0 && p[0] == frameError:
		var e messages.Error
		if err := json.Unmarshal(p[1:], &e); err != nil || e.Code == "" {
			return h, malformed("an error without a code")
		}
		return h, &e
	case len(p) == 0 || p[0] != frameHello:
		return h, malformed("it does not begin with hello")
	}
	if err := json.Unmarshal(p[1:], &h); err != nil {
		return h, malformed("its hello is not JSON")
	}
	return h, nil
}

// errProtocol matches the refusals of keepers and clients of different protocols.
var errProtocol = &messages.Error{Code: messages.Unsupported, Reason: "protocol"}

// otherProtocol returns the refusal of either side.
func otherProtocol(client, keeper int) *messages.Error {
	return refused(errProtocol.Code, errProtocol.Reason, fmt.Sprintf("the keeper speaks version %d of its protocol, and the client version %d: nothing is started", keeper, client), endHint)
}

const endHint = "use the version of troupe that started the keeper, or end it and its jobs with troupe shutdown --stop-jobs"

// appendJSON returns the datagram of a hello or an error.
func appendJSON(first byte, v any) []byte {
	body, err := json.Marshal(v)
	if err != nil {
		return []byte{first, '{', '}'}
	}
	return append([]byte{first}, body...)
}
