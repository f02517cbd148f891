// Package spill is where the output of a job lives. An output is a log: bytes
// in the order they were written, addressed by offsets that never change. A log
// begins in memory (a memfd) and moves to a file when it outgrows its inline
// limit; no byte of it passes through user memory on the way in.
//
// One Writer fills a log; any number of Logs read it. The size of the log is
// the offset of its next byte: there is no second number that could disagree.
// Bytes that a quota took away are gaps, counted and told, never silence.
//
// The package imports nothing of ours, so that the keeper can use it alone.
package spill
