// Package spill stores the output of jobs. The output of a stream is a log: bytes in the
// order of the writes, at offsets that never change. A log begins in memory (a memfd) and
// moves into a file when it outgrows its inline limit; the kernel moves its bytes.
//
// One Writer fills a log; any number of Logs read it. The size of a log is the offset of
// its next byte. Bytes that are not kept become gaps, which every reader can see.
// The package imports no other package of troupe, so that the keeper can use it alone.
//
//	log.go       the interface of a log, and the state that its writer and readers share
//	plan.go      how one log is kept: policy, durability, limits, and its file name
//	store.go     the store of a node: create, open, remove and export logs
//	writer.go    the interface of a writer, the writer, and its syncs
//	pipe.go      bytes from a pipe or a terminal: splice, staging pipes, read and write
//	memory.go    logs in memory, their move into a file, and spare memory files
//	file.go      the file of a log, and its repair after deletion or truncation
//	rotate.go    files that the user named, and other programs rotate
//	quota.go     what happens at the quota, and without a directory for files
//	gaps.go      ranges that were not kept, and the gap file that records them
//	fence.go     the end of one command's output in a live shell on a terminal
//	lines.go     an index of the lines of a log
//	order.go     the order and the times in which output arrived
//	retain.go    which finished jobs and kept files stay
//	reserve.go   free space that finished jobs must leave
//	recover.go   the logs of a dead store, taken over by the next one
//	dirs.go      the directories of a node, and the lock of their owner
//	sweep.go     removal of the directories of dead nodes
//	sys.go       system calls, descriptors, and the cache of descriptors
package spill
