// Package artifact makes files and texts from the output of jobs: the directory of a
// session, artifacts with ids, bounded texts that spill into a file, and readers of huge
// files by line. It copies from a log in pieces, so memory is bounded for any size.
// Texts are UTF-8: U+FFFD replaces an invalid byte, except in a raw file. A character
// is a grapheme cluster of at most 1 KiB.
//
//	chunk.go           reading a range chunk by chunk; counting lines
//	clusters.go        the characters of one line
//	cursor.go          reading forward from an offset
//	dir.go             the locked directory of a session
//	file.go            a file that is being filled
//	grep.go            search: matches with context, within bounds
//	head_tail.go       first and last lines of a text
//	ids.go             ids of existing artifacts, for error messages
//	limits.go          sizes of the dialects; checks of a selection
//	line_part.go       a part of one line, by characters
//	name.go            names of files and directories
//	open.go            opening a file that is to be shown
//	page.go            consecutive lines within bounds
//	pattern.go         patterns of a search
//	prefilter.go       texts that each match of a pattern contains
//	reader.go          a file by line, with an index of line starts
//	runes.go           cuts at rune boundaries, conversion to UTF-8
//	search.go          finding matching lines
//	search_page.go     search in pages that continue each other
//	sixel.go           pictures in a stream
//	spill_buffer.go    a text in memory, beyond a threshold in a file
//	store.go           artifacts by id
//	sweep.go           removal of directories of dead owners
//	tail.go            the last bytes of a text
//	tail_buffer.go     the last bytes, with the whole text in a file
//	text_cleaner.go    text for models: no escape sequences
//	truncate.go        cuts at lines and bytes
//	truncate_line.go   a line without its middle
package artifact
