package api

// Names of headers and trailers.
const (
	KeyHeader    = "Idempotency-Key"    // of a run: a repeated request with the same key gets the same job
	StreamHeader = "Troupe-Stream"      // the stream of a raw output
	OffsetHeader = "Troupe-Offset"      // offset of its first byte; of both streams "stdout,stderr"
	SizeHeader   = "Troupe-Size"        // bytes of the stream when the reply began
	NextTrailer  = "Troupe-Next-Offset" // offset after the last byte that was sent
	OriginHeader = "Troupe-Journal"     // of events: the origin of the journal that gave their numbers
	GapsTrailer  = "Troupe-Gaps"        // ranges that were not kept, as "100-200,300-400", ends exclusive
)

// BothStreams requests stdout and stderr in one reply, as frames in docker's
// multiplexed format. A frame has a head of eight bytes: the stream (1 or 2), three
// zeros and the length of the data (big endian).
const (
	BothStreams = "both"
	FrameHead   = 8
	FramesType  = "application/vnd.docker.multiplexed-stream"
)

// Resumable is the preference (RFC 7240) of a reader of raw output that goes on where a broken
// reply has ended. A reply of one stream then ends before a gap, and its trailers say where to
// continue. A reply of both has a frame for each gap: its second byte is GapFrame, and its data
// are the first byte of the gap and the first one after it, big endian.
const (
	Resumable = "resumable"
	GapFrame  = 1
	GapSize   = 16
)

// TimeFrame is the second byte of a frame with a time, of a reply with times=true: the bytes of its
// stream after it arrived within a second of it. Its data are Unix milliseconds, big endian; 0 is
// a time that is not known.
const (
	TimeFrame = 2
	TimeSize  = 8
)

// Processing is the preference (RFC 7240) of a caller of run that wants the job before
// it ends. A 102 reply then names the job in its Location.
const Processing = "processing"
