// Package snapshot stores what users have set up for their shells: functions, options, aliases
// and PATH. A live shell sources the file instead of the user's own, which may
// hang, ask, print or start another program.
//
// The user's file runs once, as a job of the engine. Its whole tree is killed after two seconds,
// and stopped after its exit. Package shelltext defines the dump, the text of a snapshot and its
// checks.
//
// Files:
//
//	leftovers.go   jobs and files of a killed maker
//	maker.go       Maker: runs the user's file and checks the snapshot
//	run.go         runs one job and reads its output
//	sources.go     the user's files on which a snapshot depends
//	write.go       stores a snapshot in a file
package snapshot
