package shell

import (
	"path/filepath"
	"strings"
)

// A shell names the file of a text in a syntax error: it has no other name for what it
// sources. So a command that our parser refuses is first shown to another shell, which reads
// its text alone, runs nothing, and names itself and the lines of the user. Only if that
// finds no error does the command run. The commands before it run as ever, and so does all
// that parses: nothing is checked there.

// checked returns a text whose command from before on may not parse. program is the file of
// the shell.
func (d *driver) checked(text string, before int, program string) string {
	head, rest := text[:before], text[before:]
	lines := strings.Repeat("\n", strings.Count(head, "\n"))
	return head + strings.NewReplacer("@SHELL@", d.quote(program), "@NAME@", filepath.Base(program), "@DIR_OF_SHELL@", d.quote(filepath.Dir(program)), "@LINES@", d.quote(lines+rest), "@TEXT@", d.quote(rest)).Replace(d.check)
}

// bashCheck passes over a command in which an alias may begin or end what is no simple
// command: the other shell has no aliases.
const bashCheck = `( { builtin set +x; } 2>/dev/null; q=@LINES@; ` +
	`for a in "${!BASH_ALIASES[@]}"; do [[ $q != *"$a"* || ` +
	`${BASH_ALIASES[$a]} =~ ^[[:alnum:]_./-]+(' '+-[[:alnum:]_=,.:/-]*)*' '*$ && ! ${BASH_ALIASES[$a]} =~ ^(if|then|else|elif|fi|do|done|case|esac|while|until|for|select|function|time|coproc)(' '|$) ]] || builtin exit 0; done; ` +
	`builtin printf '%s\n' "$q" | builtin exec -a bash @SHELL@ -p -O extglob -n ) && builtin eval @TEXT@`

// zshCheck has the shell parse the command first: our parser does not know all of zsh.
const zshCheck = `{ functions[__troupe_q]=@TEXT@; } 2>/dev/null; if (( ${+functions[__troupe_q]} )); then unfunction __troupe_q; builtin eval @TEXT@; ` +
	`else ( exec -a zsh @SHELL@ -fnc @LINES@; ); builtin return 126; fi`

// posixCheck knows nothing of aliases, so with one the command runs as it is.
const posixCheck = `( { set +x; } 2>/dev/null; [ -n "$(alias)" ] || command printf '%s\n' @LINES@ | ( PATH=@DIR_OF_SHELL@; exec @NAME@ -n ) ) && eval @TEXT@`
