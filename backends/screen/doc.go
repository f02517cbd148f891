// Package screen draws what the terminals of jobs show. An emulator is one terminal: it
// takes output and returns the visible text. A Renderer draws the screens of a node's jobs on
// request, from the end of each job's log, and drops a screen that is not used.
//
// The emulator is charmbracelet/x/vt. Output is hostile, so a parser filters it: vt gets no
// query (its own reply would block it), no number out of bounds and no string. What vt lacks
// or does wrong is made of what it can do.
//
//	catch_up.go          draws the new part of a log; scans for modes and queries
//	csi.go               passes text and control sequences to vt
//	emulator.go          a terminal in memory
//	fast_path.go         skips text that scrolls out of the screen at once
//	insert.go            inserts and deletes characters, which vt does wrong
//	mode_change.go       follows changes of modes for ModeTracker
//	mode_tracker.go      ModeTracker: what to undo on a terminal
//	modes.go             the modes of a screen, for replay and reports
//	query_reply.go       replies to terminal queries
//	renderer.go          Renderer: the screens of a node's jobs
//	sequence_parser.go   parses and filters output
package screen
