package troupe

import "troupe/messages"

// Command is the request of one job. Its fields say where and how it runs; the zero value of
// each is the default.
type Command = messages.RunCommand

// Sh returns the command of a shell text, as a shell runs it.
func Sh(text string) Command { return Command{Program: messages.Program{Text: text}} }

// Exec returns the command of a program and its arguments, without a shell.
func Exec(argv ...string) Command { return Command{Program: messages.Program{Argv: argv}} }
