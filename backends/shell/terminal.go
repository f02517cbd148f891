package shell

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"troupe/backends"
	"troupe/messages"
)

// A driver on a terminal is that on pipes, but that the terminal takes the place of its
// input and its output, and that it writes a fence there before each report. fish is not
// among them: a program that is stopped with ^Z keeps it from going on.

var (
	// reported is where a driver reports the end of a command.
	reported = regexp.MustCompile(`(?m)^( *)(builtin|command) printf '\\0%s %s %s\\0'`)

	// toTerminal has 0, 1 and 2 be the terminal, opened anew before each report: a command
	// may have closed them, or made them such that a read does not wait. A redirection
	// costs a shell ten system calls, so that there are no others.
	toTerminal = strings.NewReplacer(
		"      command exec 1>&2 # which is /dev/null, as a rule\n", "      command exec 0<>@TTY@ 1>&0 2>&0\n",
		"      command exec 0</dev/null 1>/dev/null 2>&1 # whatever the command made of them\n", "",
		"command exec 0</dev/null 1>/dev/null 2>&1\n", "command exec 0<>@TTY@ 1>&0 2>&0\n",
		"builtin exec 0</dev/null 1>/dev/null 2>&1\n", "builtin exec 0<>@TTY@ 1>&0 2>&0\n",
		"    command exec 1>'@DIR@/out' || builtin exit 125\n", "",
		"*) command exec 1>'@DIR@/out' 2>&1 || exit 125 ;;", "*) ;;",
		"builtin exec 1>'@DIR@/out' 2>&1\n", "builtin true\n",
		` 2>"$__troupe_e"`, "",
		// What set -x tells of the driver would be output of the command.
		"  __troupe() {\n", "  __troupe() {\n    if [[ $- == *x* ]]; then builtin local - 2>/dev/null && builtin set +x; fi\n",
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
		t.words = []string{"zsh", "-f", "-i", "-c", sourcedAgainZsh, "zsh"}
	case "dash", "sh":
		t.words = append([]string{d.words[0], "-m"}, d.words[1:]...)
	default:
		return nil
	}
	t.script = reported.ReplaceAllString(toTerminal.Replace(d.script),
		`${1}${2} printf '\033]133;D;%s;%s\a' "$$__troupe_s" "$$__troupe_n"`+"\n"+`$0`)
	switch d.words[0] {
	case "zsh": // what became of a job in the background is not told in the middle of another command
		t.script = "setopt no_notify\n" + t.script
	}
	return &t
}

// driver is that of a shell, as the backend runs it.
func (b *Backend) driver(shell string) (*driver, *messages.Error) {
	d, err := driverOf(shell)
	if err != nil || !b.onTerminals() {
		return d, err
	}
	if d = d.onTerminal(); d == nil {
		return nil, &messages.Error{
			Code: messages.Unsupported, Reason: "shell", Message: fmt.Sprintf("a live %s cannot be on a terminal", cmp.Or(shell, DefaultShell)),
			Hint: "use bash, zsh, dash or sh for this session, or open it without a terminal",
		}
	}
	return d, nil
}

// size is how large the terminal of the place is; the zero value: it has none.
func (p *executor) size() messages.Terminal {
	if !p.backend.onTerminals() {
		return messages.Terminal{}
	}
	return cmp.Or(p.at.Terminal, p.backend.options.Terminal)
}

// stdio is what a command is to have: on a terminal nothing but that.
func (p *executor) stdio(c backends.Command) backends.Stdio {
	if !p.backend.onTerminals() {
		return c.Stdio
	}
	return backends.Stdio{Stdin: messages.StdinNull, Streams: messages.MergedStreams, Terminal: cmp.Or(c.Stdio.Terminal, p.size()), Ended: c.Stdio.Ended}
}

// term is the kind of terminal that programs are told (package pipe).
const term = "TERM=xterm-256color"

// environ is the environment of the shell of the place.
func (p *executor) environ() []string {
	if !p.backend.onTerminals() || slices.ContainsFunc(p.at.Env, func(v string) bool { return strings.HasPrefix(v, "TERM=") }) {
		return p.at.Env
	}
	return append(slices.Clip(p.at.Env), term)
}

// badSize says why a terminal cannot have a size; none is none.
func badSize(t messages.Terminal) *messages.Error {
	if t == (messages.Terminal{}) || t.Rows >= 1 && t.Rows <= 65535 && t.Cols >= 1 && t.Cols <= 65535 {
		return nil
	}
	return messages.Invalid("invalid_size",
		fmt.Sprintf("a terminal of %d rows and %d columns is impossible; use 1 to 65535 of each", t.Rows, t.Cols))
}
