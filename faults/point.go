package faults

import "slices"

// Point is a place where faults can happen.
type Point string

// The points.
const (
	Start   Point = "start"   // a job is to start
	Output  Point = "output"  // a job has written something; with match, what it has written matches, which is one event of a job
	Read    Point = "read"    // a client is to get a part of a job's output
	Input   Point = "input"   // a client writes to a job's input
	Exit    Point = "exit"    // the main process of a job has ended
	Notice  Point = "notice"  // the end of a job is to reach a subscriber or a webhook
	Journal Point = "journal" // a fact about a job is to be written to the journal
	Shell   Point = "shell"   // a command is to start in a live shell
	Reply   Point = "reply"   // a client is to get the reply to its request for a job
)

// Action is what a fault does.
type Action string

// The actions.
const (
	Delay         Action = "delay"          // for a while nothing happens
	Drop          Action = "drop"           // it is lost
	Duplicate     Action = "duplicate"      // it comes twice
	Reorder       Action = "reorder"        // it comes after the next one, or after a second if there is none
	Errno         Action = "errno"          // it fails with an error of the system
	NoSpace       Action = "no-space"       // errno ENOSPC
	NoDescriptors Action = "no-descriptors" // errno EMFILE
	ForkRefused   Action = "fork-refused"   // errno EAGAIN
	ShortWrite    Action = "short-write"    // only the first bytes arrive
	SlowReader    Action = "slow-reader"    // the client gets few bytes at a time, with pauses
	Garbage       Action = "garbage"        // the client gets other bytes
	Cut           Action = "cut"            // the client gets only the first bytes
	LostExit      Action = "lost-exit"      // the end is not reported until the job is stopped
	WrongExit     Action = "wrong-exit"     // another exit code or signal is reported
	HeldPipe      Action = "held-pipe"      // a process that outlives the command holds the output open
	Hang          Action = "hang"           // it never begins
	Kill          Action = "kill"           // a process gets a signal
	Freeze        Action = "freeze"         // a process gets SIGSTOP, and later SIGCONT
)

// Target is the process that Kill and Freeze mean.
type Target string

// The targets.
const (
	Child  Target = "child"  // the main process of the job
	Holder Target = "shell"  // the live shell of the job
	Keeper Target = "keeper" // the process that holds the jobs
	Daemon Target = "daemon" // the process that supervises them
)

// Points lists all points.
func Points() []Point {
	return []Point{Start, Output, Read, Input, Exit, Notice, Journal, Shell, Reply}
}

// signals are actions that need no point of their own: they happen to a process.
var signals = []Action{Kill, Freeze}

// actions lists what can happen at each point, besides signals.
func actions() map[Point][]Action {
	return map[Point][]Action{
		Start:   {Delay, Errno, NoSpace, NoDescriptors, ForkRefused, Hang, HeldPipe},
		Output:  {},
		Read:    {Delay, SlowReader, Garbage, Cut, Errno},
		Input:   {Delay, Drop, Duplicate, ShortWrite, Errno},
		Exit:    {Delay, LostExit, WrongExit},
		Notice:  {Delay, Drop, Duplicate, Reorder},
		Journal: {Delay, Errno, NoSpace},
		Shell:   {Delay, Errno, Hang},
		Reply:   {Delay, Drop},
	}
}

// Actions lists what can happen at a point.
func Actions(p Point) []Action { return slices.Concat(actions()[p], signals) }

// implied are the errors of the system that an action stands for.
var implied = map[Action]string{NoSpace: "ENOSPC", NoDescriptors: "EMFILE", ForkRefused: "EAGAIN"}
