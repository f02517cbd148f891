// Package terminal prints on the terminal of the user and changes its modes. What it changed is
// restored at the end of the verb, also after SIGKILL: a guard process does that.
//
//	changes.go          tracks changes of the screen, and undoes them
//	detach_keys.go      finds the detach keys in typed input
//	follow_size.go      passes on the sizes of a terminal, not more than a program can use
//	guard.go            the process that restores the terminal of a killed troupe
//	guard_screen.go     guards a screen that a program takes whole
//	keyboard.go         line editing for jobs on pipes
//	passive_screen.go   modes of a terminal that only shows a job
//	printer.go          prints what commands print, and sentences of troupe between
//	raw_keyboard.go     raw mode for jobs on a terminal
//	termios.go          requests of termios
//	unnamed_file.go     a file without a name
package terminal
