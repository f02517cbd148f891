// Package hostile builds process trees that resist a stop: their processes ignore
// signals, leave their group, and fork while they are killed. A test binary runs them
// itself, so that no compiler is needed. Its TestMain begins with
//
//	if code, ours := hostile.Main(os.Args[1:]); ours {
//		os.Exit(code)
//	}
//
// A tree of n roots never has more than about 5n processes, and each of them ends by
// itself within an hour.
//
//	adopt_orphans.go   becoming a subreaper
//	main.go            the roles of the processes
//	tree.go            kinds of processes; starting and finding a tree
package hostile
