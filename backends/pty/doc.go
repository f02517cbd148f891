// Package pty is the backend whose commands each have a terminal of their own, as input, output
// and controlling terminal. Each command is one process tree; the commands of a session run in
// parallel. It is package pipe with a default terminal (docs/decisions/022).
//
// A command's terminal has the size that the command asks for, else its session's, else 80 by
// 24. TERM is xterm-256color unless the environment has another.
//
// Files:
//
//	new.go   the backend
package pty
