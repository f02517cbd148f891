package shelltext

import (
	"regexp"
	"strings"
)

// A snapshot is a user's shell setup as a file that a shell sources: functions,
// options, aliases and PATH. It takes three steps. A shell runs the
// user's file and dumps its state (SnapshotRuns). The dump is parsed, filtered and
// written as a script (Snapshot). The script is tried (SnapshotChecks).

// MaxSnapshot bounds the dump of a shell, in bytes.
const MaxSnapshot = 8 << 20

// StartFile returns the user's start file for a kind of shell; "" if env names no home
// directory.
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

// SourcedFiles returns the files in the user's home directory that the text of a start
// file sources by name, at most maxSourced. A snapshot depends on them, too.
func SourcedFiles(text string, env []string) []string {
	home := Value(env, "HOME")
	if home == "" {
		return nil
	}
	var files []string
	for _, m := range regexp.MustCompile(sourcePattern).FindAllStringSubmatch(text, maxSourced) {
		files = append(files, home+"/"+m[1])
	}
	return files
}

// maxSourced bounds the files to compare before a shell starts.
const maxSourced = 64

// sourcePattern matches a source command with a path in the home directory.
const sourcePattern = `(?m)(?:^|[\s;&|({])(?:\\?\.|source)[ \t]+["']?(?:~|\$HOME|\$\{HOME\})"?/([\w./+@-]+)`

var startNames = map[string]string{Bash: ".bashrc", Zsh: ".zshrc", Sh: ".profile"}

// SnapshotEnv returns the environment for making a snapshot: without the variables that
// name files which a shell runs first.
func SnapshotEnv(env []string) []string {
	kept := make([]string, 0, len(env))
	for _, entry := range env {
		if !strings.HasPrefix(entry, "BASH_ENV=") && !strings.HasPrefix(entry, "ENV=") {
			kept = append(kept, entry)
		}
	}
	return kept
}

// SnapshotRuns returns the commands by which the shell at path dumps the setup of the
// user's file, the best first. Many files return early in shells that are not
// interactive; some replace an interactive shell by another program. It returns nil for
// a shell that cannot dump its state.
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

// The scripts run the user's file without troupe's descriptors. Then they write to
// stdout in fields that end with NUL: kind, name, text. They use builtin to bypass
// redefinitions. In bash even builtin may be redefined, so the script removes it with
// unset, which posix mode finds before any function. The function is parsed before the
// file can define an alias; only the content of $( ) is parsed later. The field builtins
// has the names of all builtins, also disabled ones, between other words.
const bashDump = `exec 3>&1 </dev/null >/dev/null 2>&1
__troupe_tell() {
	POSIXLY_CORRECT=1
	\unset -f builtin
	\unset POSIXLY_CORRECT
	builtin trap - DEBUG RETURN ERR EXIT
	builtin unset HISTFILE BASH_XTRACEFD
	builtin set -- "$(\builtin set +o)" "$(\builtin shopt -p)" "$(\builtin alias -p)" "$(\builtin declare -F)" "$(\builtin enable -a)"
	builtin set +euvx -f
	builtin local IFS=$'\n' name
	builtin printf '%s\0\0%s\0' set "$1" shopt "$2" aliases "$3" path "${PATH-}" builtins "$5"
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

// zsh shows a function that is not loaded yet as a stub. The script loads it unless its
// name begins with an underscore, as with thousands of completions. The quoting of a
// function's text depends on options, so the script checks that zsh can read each text
// again.
const zshDump = `exec 3>&1 </dev/null >/dev/null 2>&1
__troupe_tell() {
	builtin set -- "$(\builtin set +o)" "${PATH-}"
	builtin emulate -L zsh
	builtin trap - ZERR DEBUG
	builtin unfunction -m 'TRAP*' zshexit
	builtin unset HISTFILE
	builtin zmodload zsh/parameter
	local name text
	builtin print -rN -- set '' "$1" path '' "$2" builtins '' "${(kj: :)builtins} ${(kj: :)dis_builtins}"
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
	builtin exec >/dev/null
	builtin exit 0
}
[[ -r ${ZDOTDIR:-$HOME}/.zshrc ]] && . "${ZDOTDIR:-$HOME}/.zshrc" 3>&- || :
__troupe_tell >&3
`

// A plain sh cannot list its functions.
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

// SnapshotChecks returns two commands that check a snapshot in file. read only parses
// it and must exit with 0. try runs a command under it, must exit with 0 and print word
// alone. try changes directory under set -u, since broken wrappers fail there, and runs
// a program, since the environment may be too large.
func SnapshotChecks(path, file, word string) (read, try []string) {
	const trial = `. "$1"
set -u
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

// SourceSnapshot returns the text that loads a snapshot, if the file exists. keepPath
// preserves PATH, since that of a call wins.
func SourceSnapshot(file string, keepPath bool) string {
	source := "[ -r " + Quote(file) + " ] && . " + Quote(file) + "\n"
	if !keepPath {
		return source
	}
	return "__troupe_path=$PATH\n" + source + "PATH=$__troupe_path\nunset __troupe_path\n"
}

// Quote quotes a text as one word for any of the shells.
func Quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
