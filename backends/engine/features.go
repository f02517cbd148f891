package engine

import "troupe/messages"

// Features lists what an engine can use on this machine, for `troupe doctor`.
type Features struct {
	Own       bool               // the process belongs to the engine
	Isolation messages.Isolation // how a job's processes are tracked

	Cgroup     string   // directory of the jobs' cgroups
	NoCgroup   string   // reason for its absence
	CgroupKill bool     // one write kills a tree
	Memory     bool     // OOM kills are detected
	AllMemory  bool     // they are counted for all jobs together
	Swept      []string // dead nodes whose jobs were killed

	Subreaper   bool // orphans of jobs become children of this process
	NoSubreaper string
	NoProcesses string // why /proc does not show this namespace; "": it does
	Pidfd       bool
	GroupSignal bool // a pidfd can signal a process group
	Inotify     bool
	Children    bool   // /proc lists the children of a process
	LargePipes  bool   // a pipe can be enlarged
	Reads       string // how waiting for input is detected; "": not at all
	Terminals   bool   // jobs can have a terminal
	NoTerminal  string // reason for their absence
	Spliced     bool   // terminal output is not copied through this process
	Umask       bool   // jobs can have their own umask
	Inherited   int    // descriptors of the host that each child must close
}
