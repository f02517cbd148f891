package engine

import "troupe/messages"

// Features is what an engine found to stand on, for people: `troupe doctor`.
type Features struct {
	Own       bool               // the process is the engine's
	Isolation messages.Isolation // what will hold a job's processes together

	Cgroup     string   // the directory of the jobs' cgroups
	NoCgroup   string   // or why there is none
	CgroupKill bool     // a tree can be ended with one write
	Memory     bool     // an OOM kill can be told
	Swept      []string // nodes that died and whose jobs were ended

	Subreaper   bool // orphans of jobs come to this process
	NoSubreaper string
	NoProcesses string // why /proc does not show the processes of this namespace; "": it does
	Pidfd       bool
	GroupSignal bool // a pidfd can signal a process group
	Inotify     bool
	Children    bool   // /proc names the children of a process
	LargePipes  bool   // a pipe can be made large
	Reads       string // how it is seen that a job waits for input; "": it is not
	Terminals   bool   // a job can be on a terminal of its own
	NoTerminal  string // or why not
	Spliced     bool   // its output passes through no memory of this process
	Umask       bool   // a job can have an umask of its own
	Inherited   int    // descriptors of the host that each child has to close
}
