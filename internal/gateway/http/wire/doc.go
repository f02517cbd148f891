// Package wire is the JSON of the HTTP API: what its server and its client say
// to each other. Requests are read strictly (Decode); replies carry "v":1 and
// may gain fields. The job object is that of package messages.
//
// Durations are whole milliseconds in fields that end in _ms, as in the job
// object; null, or leaving the field out, is none or the default. Bytes that are
// no UTF-8 text travel in fields that end in _base64, or as a raw body.
package wire

import "troupe/messages"

// Version is the "v" of every object.
const Version = messages.JSONVersion

// Names of headers and trailers.
const (
	ForHeader    = "Troupe-For"         // whom a process asks for that serves others: each is a client with bounds of its own
	KeyHeader    = "Idempotency-Key"    // of a run: the same key and request again gets the same job
	StreamHeader = "Troupe-Stream"      // which stream a raw output is
	OffsetHeader = "Troupe-Offset"      // the byte that it begins with
	SizeHeader   = "Troupe-Size"        // bytes of the stream when the reply began
	NextTrailer  = "Troupe-Next-Offset" // the byte behind the last one that was sent
	GapsTrailer  = "Troupe-Gaps"        // what was left out, since it was not kept: "100-200,300-400", each without its end
)

// BothStreams asks for stdout and stderr in one reply, in frames: a head of eight
// bytes, which are the stream (1 or 2), three zeros and the length of what follows
// (big endian), and so many bytes. It is what docker calls multiplexed.
const (
	BothStreams = "both"
	FrameHead   = 8
	FramesType  = "application/vnd.docker.multiplexed-stream"
)

// Processing is the preference (RFC 7240) of a caller of run who wants to know
// the job before it ends: the Location of a 102 reply names it.
const Processing = "processing"

// ErrorBody is the body of every error.
type ErrorBody struct {
	V     int            `json:"v"`
	Error messages.Error `json:"error"`
}
