package api

// Type of a Param is integer, boolean, string, or the values of a string: ask|take.

var outputParams = []Param{
	{"query", "stream", "merged|stdout|stderr|both", "merged (default), stdout, stderr, or both: in the order of their arrival, in frames, each a head of 8 bytes (the stream, three zeros, the length, big endian) and its bytes"},
	{"query", "offset", "integer", "the byte to begin with"},
	{"query", "limit", "integer", "at most so many, from 1: bytes of an output, lines of a text"},
	{"query", "follow", "boolean", "wait for what comes"},
	{"query", "since", "string", "a moment (RFC 3339) instead of an offset: what was written from then on, to a second, from the beginning of its line"},
	{"query", "times", "boolean", "in frames, also one stream: a frame whose second byte is 2 has the time at which the bytes after it arrived, to a second: Unix milliseconds in eight bytes, big endian; 0 is not known. With grep, the time of each line before its text"},
	{"query", "grep", "string", "instead of the bytes, the lines that match this pattern (RE2; ^ and $ are the ends of a line), as grep -n prints them: 7:text. The whole output is searched, while the request is open. ? is the number of a line after a gap"},
	{"query", "context", "integer", "with grep, so many lines before and after each match, as 6-text, to 1000; -- stands between lines that are not adjacent"},
	{"query", "offset_stdout", "integer", "of both, the byte of stdout to begin with"},
	{"query", "offset_stderr", "integer", "of both, the byte of stderr to begin with"},
	{"header", "Prefer", "string", "resumable: end before a gap; of both, send a gap as a frame whose second byte is 1"},
}

var viewParams = []Param{
	{"query", "stream", "merged|stdout|stderr|both", "merged (default), stdout, stderr or both"},
	{"query", "line", "integer", "the first line of a page, from 1"},
	{"query", "limit", "integer", "at most so many, from 1: bytes of an output, lines of a text"},
	{"query", "head", "integer", "so many first lines"},
	{"query", "tail", "integer", "so many last lines"},
	{"query", "bytes", "integer", "at most so many bytes of text, also with head and tail, to 1048576; 51200 if not given"},
	{"query", "since", "string", "a moment; answered with unsupported: views are of lines, and output begins with a moment"},
	{"query", "raw", "boolean", "with terminal control sequences"},
	{"query", "final", "boolean", "each line as a terminal shows it in the end, after CR, backspace and movements of the cursor; one line stands for what was drawn on the alternate screen"},
	{"query", "grep", "string", "a page of the lines that match this pattern, as of the output; it takes up to a quarter of a second, and may have no line: next has the cursor of the next page, and to says how far the output is searched"},
	{"query", "context", "integer", "with grep, so many lines before and after each match, to 1000"},
	{"query", "times", "boolean", "with grep, the time of each line before its text"},
	{"query", "cursor", "string", "with grep, next of the page before, with the same other parameters"},
	{"query", "offset_stdout", "integer", "for stream=both: show stdout after this byte"},
	{"query", "offset_stderr", "integer", "for stream=both: show stderr after this byte"},
}

var attachParams = []Param{
	{"query", "stream", "merged|stdout|stderr", "merged (default), stdout or stderr"},
	{"query", "offset", "integer", "the byte to begin with"},
	{"query", "lease", "ask|take", "ask or take the right to write; without it, watch"},
	{"query", "terminal", "boolean", "the client shows the output on a terminal that answers queries in it; while the client has the lease, answers names the byte from which the terminal answers"},
}

var eventParams = []Param{
	{"query", "after", "integer", "only facts with a greater number"},
	{"query", "now", "boolean", "only facts from now on"},
	{"query", "past", "boolean", "only facts up to now: stream_ended without an error follows them"},
	{"query", "scope", "string", "a scope's path; with its sub-scopes"},
	{"query", "job", "string", "only facts of this job: id, ULID, or the name of one that is there"},
	{"query", "ends", "boolean", "only command_finished: each job has one"},
	{"header", "Last-Event-ID", "string", "resume after this number"},
	{"header", OriginHeader, "string", "the journal that gave the number of after or Last-Event-ID: this header of the reply that had it"},
}
