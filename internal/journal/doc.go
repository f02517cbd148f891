// Package journal stores the numbered facts of a node about its jobs, sessions and
// scopes, in order. One recorder writes, many read: channels of facts read what they
// no longer hold, and a subscriber resumes at its number. A journal may remove the
// oldest facts, never one in the middle; a reader sees the gap in the first number.
//
//	bolt.go           the durable journal: opening, reading, faults
//	channels.go       channels in the file
//	compact.go        a smaller file in the place of one that is mostly free
//	fact.go           encoding of facts
//	file.go           safe creation and opening of the file; its errors
//	finished.go       live and finished jobs, and small outputs, in the file
//	jobs.go           what is stored beside facts; retention
//	memory.go         the journal in memory
//	memory_jobs.go    jobs and channels of the journal in memory
//	migrate.go        rewrites the file of an older format
//	origins.go        the openings of a journal
//	record.go         job records and indexes in the file
//	request.go        requests of queued jobs in the file
//	session_ends.go   the last ends of sessions
//	store.go          the interface of a journal and its errors
//	trim.go           removal by retention
//	txn.go            buckets, seals and totals of a transaction
//	verify.go         check of the whole file before it is used
//	write.go          commits shared by waiting callers
package journal
