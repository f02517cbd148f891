package shell

import (
	"regexp"
	"strings"
)

// A driver on a terminal is that on pipes, but that the terminal takes the place of its
// input and its output, and that it writes a fence there before each report. fish is not
// among them: a program that is stopped with ^Z keeps it from going on.

var (
	// reported is where a driver reports the end of a command.
	reported = regexp.MustCompile(`(?m)^( *)(builtin|command) printf '\\0%s %s %s\\0'`)

	// toTerminal has 0, 1 and 2 be the terminal wherever they are nobody's on pipes. The
	// redirections hold out against noclobber.
	toTerminal = strings.NewReplacer(
		"0</dev/null 1>/dev/null 2>&1", "0<@TTY@ 1>|@TTY@ 2>&1",
		"exec 1>&2", "exec 1>|@TTY@",
		"1>'@DIR@/out'", "1>|@TTY@",
		"__troupe_e='@DIR@/out'", "__troupe_e=@TTY@",
		// No history, and no prompt where the shell looks for a command of its own.
		"builtin unset HISTFILE\n", "builtin unset HISTFILE\n  PS1='' PS2=''\n",
	)
)

// onTerminal is the driver for a shell on a terminal; nil: it can be none. The shells
// have job control there: each command runs in the foreground of the terminal, and one
// that is stopped (^Z) has the status 148.
func (d *driver) onTerminal() *driver {
	t := *d
	switch d.words[0] {
	case "bash":
		t.words = append([]string{"bash", "--noediting"}, d.words[1:]...)
	case "zsh":
		t.words = []string{"zsh", "-f", "-i", "-c", sourced, "zsh"}
	case "dash":
		t.words = append([]string{"dash", "-m"}, d.words[1:]...)
	default:
		return nil
	}
	t.script = reported.ReplaceAllString(toTerminal.Replace(d.script),
		`${1}${2} printf '\033]133;D;%s;%s\a' "$$__troupe_s" "$$__troupe_n" >|@TTY@`+"\n"+`$0`)
	if d.words[0] == "bash" { // ^Z ends every loop that it is in
		t.script += sourced + "\n"
	}
	return &t
}
