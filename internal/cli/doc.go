// Package cli holds what every verb of troupe uses: the program's files, environment and
// version, its exit statuses, its signals and its terminals. It prints nothing.
//
//	main.go          Main, the surroundings of the program
//	program_path.go  the path by which others start troupe
//	signals.go       the signals that end or interrupt a verb
//	status.go        exit statuses
//	terminal.go      descriptors, terminals and their size
//	version.go       the build, as troupe version prints it
package cli
