package shell

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"troupe/backends"
	"troupe/messages"
)

// A driver on a terminal differs from the one on pipes in two ways: the terminal replaces
// its input and output, and it writes a fence there before each report. fish is not
// supported: a program stopped with ^Z blocks it.

var (
	// reported matches the line by which a driver reports the end of a command.
	reported = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)^( *)(builtin|command) printf '\\0%s %s %s\\0'`)
	})

	// toTerminal opens the terminal as 0, 1 and 2 before each report: a command may have
	// closed them or made them non-blocking. Other redirections go, since each costs a
	// shell ten system calls.
	toTerminal = strings.NewReplacer(
		"      command exec 1>&2 # which is /dev/null, as a rule\n", "      command exec 0<>@TTY@ 1>&0 2>&0\n",
		"      command exec 0</dev/null 1>/dev/null 2>&1 # whatever the command made of them\n", "",
		"command exec 0</dev/null 1>/dev/null 2>&1\n", "command exec 0<>@TTY@ 1>&0 2>&0\n",
		"builtin exec 0</dev/null 1>/dev/null 2>&1\n", "builtin exec 0<>@TTY@ 1>&0 2>&0\n",
		"    command exec 1>'@DIR@/out' || builtin exit 125\n", "",
		"*) command exec 1>'@DIR@/out' 2>&1 || exit 125 ;;", "*) ;;",
		"builtin exec 1>'@DIR@/out' 2>&1\n", "builtin true\n",
		` 2>"$__troupe_e"`, "",
		// set -x would trace the driver into the output of the command.
		"  __troupe() {\n", "  __troupe() {\n    if [[ $- == *x* ]]; then builtin local - 2>/dev/null && builtin set +x; fi\n",
		// The shell keeps no history, and shows no prompt when it reads on its own.
		"builtin unset HISTFILE\n", "builtin unset HISTFILE\n  PS1='' PS2=''\n",
	)

	// pwshToTerminal leaves the output of PowerShell to the terminal.
	pwshToTerminal = strings.NewReplacer(
		` > "$global:__troupe_d/out" 2> "$global:__troupe_d/err"`, "", ` *> "$global:__troupe_d/out"`, "",
		"[System.IO.File]::AppendAllText(\"$global:__troupe_d/out\", \"$_`n\")", `[Console]::Error.WriteLine("$_")`,
		"  __troupe_say \"$global:__troupe_n $global:__troupe_s ", "  [Console]::Out.Write(\"`e]133;D;$global:__troupe_s;$global:__troupe_n`a\")\n  __troupe_say \"$global:__troupe_n $global:__troupe_s ",
	)
)

// onTerminal returns the driver for a shell on a terminal; nil: not supported. There
// the shells have job control: each command runs in the foreground, and one stopped
// with ^Z has the status 148.
func (d *driver) onTerminal() *driver {
	t := *d
	switch d.argv[0] {
	case "bash":
		t.argv = append([]string{"bash", "--noediting"}, d.argv[1:]...)
	case "zsh":
		t.argv = []string{"zsh", "-f", "-i", "-c", sourcedAgainZsh, "zsh"}
	case "dash", "sh":
		t.argv = append([]string{d.argv[0], "-m"}, d.argv[1:]...)
	case "pwsh":
		t.argv = slices.DeleteFunc(slices.Clone(d.argv), func(flag string) bool { return flag == "-NonInteractive" })
		t.script = pwshToTerminal.Replace(d.script)
		return &t
	default:
		return nil
	}
	t.script = reported().ReplaceAllString(toTerminal.Replace(d.script),
		`${1}${2} printf '\033]133;D;%s;%s\a' "$$__troupe_s" "$$__troupe_n"`+"\n"+`$0`)
	switch d.argv[0] {
	case "zsh": // reports of background jobs must not appear within another command's output
		t.script = "setopt no_notify\n" + t.script
	}
	return &t
}

// driver returns the driver of a shell for pipes or for a terminal.
func (b *Backend) driver(shell string) (*driver, *messages.Error) {
	d, err := driverOf(shell)
	if err != nil {
		return nil, err
	}
	if b.options.KeepErrexit {
		d = d.keeping()
	}
	if !b.onTerminals() {
		return d, nil
	}
	if d = d.onTerminal(); d == nil {
		return nil, &messages.Error{
			Code: messages.Unsupported, Reason: "shell", Message: fmt.Sprintf("a live %s cannot be on a terminal", cmp.Or(shell, DefaultShell)),
			Hint: "use bash, zsh, dash, sh or pwsh for this session, or open it without a terminal",
		}
	}
	return d, nil
}

// size returns the size of the session's terminal; the zero value: none.
func (p *executor) size() messages.Terminal {
	if !p.backend.onTerminals() {
		return messages.Terminal{}
	}
	return cmp.Or(p.at.Terminal, p.backend.options.Terminal)
}

// stdio returns the stdio of a command. On a terminal that is the terminal alone.
func (p *executor) stdio(c backends.Command) backends.Stdio {
	if !p.backend.onTerminals() {
		return c.Stdio
	}
	return backends.Stdio{Stdin: messages.StdinNull, Streams: messages.MergedStreams, Terminal: cmp.Or(c.Stdio.Terminal, p.size()), Ended: c.Stdio.Ended}
}

// term sets the terminal type of programs, as package pipe does.
const term = "TERM=xterm-256color"

// environ returns the environment of the session's shell.
func (p *executor) environ() []string {
	if !p.backend.onTerminals() || slices.ContainsFunc(p.at.Env, func(v string) bool { return strings.HasPrefix(v, "TERM=") }) {
		return p.at.Env
	}
	return append(slices.Clip(p.at.Env), term)
}

// badSize reports a terminal size out of range. The zero value means no terminal.
func badSize(t messages.Terminal) *messages.Error {
	if t == (messages.Terminal{}) || t.Rows >= 1 && t.Rows <= 65535 && t.Cols >= 1 && t.Cols <= 65535 {
		return nil
	}
	return messages.Invalid("invalid_size",
		fmt.Sprintf("a terminal of %d rows and %d columns is impossible; use 1 to 65535 of each", t.Rows, t.Cols))
}
