package shelltext

import "strings"

// A snapshot is what a user has set up for their shells: functions, options, aliases and
// PATH, as a file that a shell sources. It is made in three steps: a shell
// runs the user's file and tells what it has then (SnapshotRuns), that is read, filtered
// and written as a script (Snapshot), and the script is tried (SnapshotChecks).

// MaxSnapshot bounds what a shell may tell of itself.
const MaxSnapshot = 8 << 20

// StartFile is the file of the user that a snapshot is made of, in an environment; "" if that
// names no home.
func StartFile(kind string, env []string) string {
	home := Value(env, "HOME")
	if kind == Zsh {
		if dot := Value(env, "ZDOTDIR"); dot != "" {
			home = dot
		}
	}
	if home == "" {
		return ""
	}
	return home + "/" + startNames[kind]
}

var startNames = map[string]string{Bash: ".bashrc", Zsh: ".zshrc", Sh: ".profile"}

// SnapshotEnv is the environment in which a snapshot is made: without the variables that
// name files which a shell runs before all others.
func SnapshotEnv(env []string) []string {
	kept := make([]string, 0, len(env))
	for _, entry := range env {
		if !strings.HasPrefix(entry, "BASH_ENV=") && !strings.HasPrefix(entry, "ENV=") {
			kept = append(kept, entry)
		}
	}
	return kept
}

// SnapshotRuns are the commands by which the shell at a path tells what its user's file
// sets up, the best first: many files say at their beginning that they are for interactive
// shells only, and some that an interactive shell is to become another program. None, if a
// shell of this kind cannot tell.
func SnapshotRuns(path string) [][]string {
	switch Kind(path) {
	case Bash:
		return [][]string{
			{path, "--norc", "--noprofile", "-i", "-c", bashDump},
			{path, "--norc", "--noprofile", "-c", bashDump},
		}
	case Zsh:
		return [][]string{{path, "-f", "-i", "-c", zshDump}, {path, "-f", "-c", zshDump}}
	case Sh:
		return [][]string{{path, "-c", shDump}}
	}
	return nil
}

// The scripts run the user's file without any descriptor of ours, then tell on standard
// output in fields that end with NUL: kind, name, text. What the file may have redefined is
// reached by builtin, and even that may have been: in bash unset is a special builtin, which
// posix mode finds before any function. The function is read before the file can define an
// alias; only what stands in $( ) is read later.
const bashDump = `exec 3>&1 </dev/null >/dev/null 2>&1
__troupe_tell() {
	POSIXLY_CORRECT=1
	\unset -f builtin
	\unset POSIXLY_CORRECT
	builtin trap - DEBUG RETURN ERR EXIT
	builtin unset HISTFILE BASH_XTRACEFD
	builtin set -- "$(\builtin set +o)" "$(\builtin shopt -p)" "$(\builtin alias -p)" "$(\builtin declare -F)"
	builtin set +euvx -f
	builtin local IFS=$'\n' name
	builtin printf '%s\0\0%s\0' set "$1" shopt "$2" aliases "$3" path "${PATH-}"
	for name in $4; do
		name=${name##* }
		builtin printf 'function\0%s\0' "$name"
		builtin declare -f -- "$name"
		builtin printf '\0'
	done
	builtin printf 'end\0end\0\0'
	builtin exit 0
}
[[ -r $HOME/.bashrc ]] && . "$HOME/.bashrc" 3>&- || :
__troupe_tell >&3
`

// zsh says of a function that is not loaded yet only how it would be: it is loaded, unless
// it begins with an underscore, as completions do by the thousand. How it writes a quote in
// a function depends on options, so each text is tried as zsh would read it again.
const zshDump = `exec 3>&1 </dev/null >/dev/null 2>&1
__troupe_tell() {
	builtin set -- "$(\builtin set +o)" "${PATH-}"
	builtin emulate -L zsh
	builtin unset HISTFILE
	builtin zmodload zsh/parameter
	local name text
	builtin print -rN -- set '' "$1" path '' "$2"
	for name text in "${(@kv)aliases}"; do
		builtin print -rN -- alias "$name" "$text"
	done
	for name text in "${(@kv)functions}"; do
		if [[ $text == 'builtin autoload -X'* ]]; then
			[[ $name == _* ]] && continue
			builtin autoload +X -- "$name" || continue
			text=$functions[$name]
		fi
		builtin unset 'functions[__troupe_try]'
		functions[__troupe_try]=$text
		(( ${+functions[__troupe_try]} )) && builtin print -rN -- function "$name" "$text"
	done
	builtin print -rN -- end end ''
	builtin exit 0
}
[[ -r ${ZDOTDIR:-$HOME}/.zshrc ]] && . "${ZDOTDIR:-$HOME}/.zshrc" 3>&- || :
__troupe_tell >&3
`

// A plain sh cannot tell its functions.
const shDump = `exec 3>&1 </dev/null >/dev/null 2>&1
__troupe_tell() {
	trap - EXIT
	set -- "$(\set +o)" "$(\alias)"
	set +euvx
	command printf '%s\0\0%s\0' set "$1" aliases "$2" path "${PATH-}"
	command printf 'end\0end\0\0'
	exit 0
}
[ -r "$HOME/.profile" ] && . "$HOME/.profile" 3>&- || :
__troupe_tell >&3
`

// SnapshotChecks are two commands for a snapshot in file: one that only reads it, which
// must end with 0, and one that runs a command under it, which must end with 0 and write
// word and nothing else. It changes directory, since that is what broken wrappers break, and
// runs a program, since an environment may be too large for any.
func SnapshotChecks(path, file, word string) (read, try []string) {
	const trial = `. "$1"
cd / >/dev/null 2>&1 && /bin/sh -c : && command printf %s "$2"`
	switch Kind(path) {
	case Bash:
		return []string{path, "--norc", "--noprofile", "-O", "extglob", "-n", file},
			[]string{path, "--norc", "--noprofile", "-c", trial, "troupe", file, word}
	case Zsh:
		return []string{path, "-f", "-n", file}, []string{path, "-f", "-c", trial, "troupe", file, word}
	}
	return []string{path, "-n", file}, []string{path, "-c", trial, "troupe", file, word}
}

// SourceSnapshot is the text by which a shell takes up a snapshot; one that is gone is not
// missed. With keepPath the PATH stays as it is: a call that names one wins.
func SourceSnapshot(file string, keepPath bool) string {
	source := "[ -r " + Quote(file) + " ] && . " + Quote(file) + "\n"
	if !keepPath {
		return source
	}
	return "__troupe_path=$PATH\n" + source + "PATH=$__troupe_path\nunset __troupe_path\n"
}

// Quote makes one word of a text for any of the shells.
func Quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
