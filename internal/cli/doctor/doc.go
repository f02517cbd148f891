// Package doctor examines what this machine allows and reports problems. It tries an engine,
// a store and shells, and leaves nothing there.
//
//	daemon.go        the daemon and its keeper
//	descriptors.go   open files, and how many jobs they are enough for
//	directories.go   directories
//	features.go      features of the kernel
//	limits.go        limits of the user and the machine
//	report.go        the report, and printing it
//	shells.go        shells and their snapshots
//	state.go         the state directory
package doctor
