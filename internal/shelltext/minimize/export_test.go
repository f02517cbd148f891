package minimize

// Program is the program of a command that is one simple command, and its subcommand;
// both are "" where there is none, or only the shell can tell.
func Program(command string) (program, subcommand string) {
	words, label := simple(command)
	if label != "" {
		return "", ""
	}
	c, _ := identify(words)
	return c.program, c.subcommand
}
