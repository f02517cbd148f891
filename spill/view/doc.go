// Package view makes bounded, read-only views of a log as text: its tail, its head and
// tail, a page of lines, a range of bytes, or two streams in one. A view never exceeds its
// options: no rune is cut, invalid UTF-8 becomes U+FFFD, and a gap is a line of text. Each
// view says which part of the log it shows, as of the call; the log may change meanwhile.
//
//	view.go              the options and the result of every view
//	tail.go              the end of a log
//	headtail.go          both ends of a log
//	page.go              a page of lines, and ranges of bytes
//	interleave.go        two streams in the order of arrival
//	fetch.go             reads of a log around its gaps
//	text.go              whole runes, and the text of what was read
//	clean.go             removal of what only a terminal understands
//	final.go             the text that a terminal shows in the end
//	terminal_row.go      the row of the cursor, which output overwrites
//	move.go              movements of the cursor within that row
//	columns.go           the width of a rune
//	alternate.go         search for the alternate screen
//	terminal_filter.go   removal of terminal queries and clipboard sequences
package view
