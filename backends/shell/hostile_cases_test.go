package shell_test

import (
	"strings"
	"time"

	"troupe/backends"
	"troupe/messages"
)

// trick is a command that has broken shells which are driven by what they print or are
// typed, and what it must come to. Behind each the session must take a plain command.
type trick struct {
	name  string
	text  string
	out   string // in the output; with = before it: all of the output
	code  int
	ends  bool       // the shell ends with it
	only  string     // the shells that it is for, by their first letters; "": all
	do    func(*run) // meanwhile
	input bool       // its standard input is a pipe
	then  string     // what "echo ALIVE" gives behind it; "": that; with ~ before it: among other things
	last  bool       // the shell may end behind it, and take one more command with it
	tty   string     // out, on a terminal, which shows what is typed; "": the same
	left  bool       // something stays in the background
	not   string     // the shells that it is not for on a terminal (docs/decisions/025)
}

const (
	anyFailure = -2 // a code: some, but not 0
	anyCode    = -3
)

// typing gives input, and its end.
func typing(text string) func(*run) {
	return func(r *run) {
		r.proc.Do(backends.Input{Data: []byte(text)})
		r.proc.Do(backends.CloseInput{})
	}
}

// interrupt does so when the command has written "ready".
func interrupt(r *run) {
	r.wrote("ready")
	r.proc.Do(backends.Signal{Name: "INT"})
}

// interruptAtInput interrupts the command when it waits for its input. A shell may take a
// signal between two commands, and then wait.
func interruptAtInput(r *run) {
	r.wrote("ready")
	r.proc.Do(backends.CheckInput{For: time.Minute})
	await[messages.InputWaiting](r.ear)
	r.proc.Do(backends.Signal{Name: "INT"})
}

// stop stops it then, with the grace.
func stop(grace time.Duration) func(*run) {
	return func(r *run) {
		r.wrote("ready")
		r.proc.Stop(messages.Cause{By: messages.ByClient, Reason: "test"}, grace)
	}
}

// The first are those of the probe that chose the protocol.
func probed() []trick {
	a := strings.Repeat("a", 5000)
	return []trick{
		{name: "simple", text: "echo hi", out: "=hi\n"},
		{name: "exit status", text: "false", out: "=", code: 1},
		{name: "several lines", text: "for i in 1 2; do\necho n$i\ndone", out: "=n1\nn2\n", only: "bzds"},
		{name: "no newline at the end", text: "printf abc", out: "=abc"},
		{name: "marks in the text", text: "echo __DONE_0__; echo ___BEGIN___COMMAND_DONE_MARKER___0; echo after", out: "=__DONE_0__\n___BEGIN___COMMAND_DONE_MARKER___0\nafter\n"},
		{name: "a comment at the end", text: "echo hi # c", out: "=hi\n"},
		{name: "an open quote", text: "echo \"abc", code: anyFailure},
		{name: "a heredoc", text: "cat <<EOF\nabc\nEOF", out: "=abc\n", only: "bzds"},
		{name: "a syntax error", text: "if then fi fi", code: anyFailure},
		{name: "an open brace", text: "{ echo a", code: anyFailure, only: "bzds"},
		{name: "exit", text: "exit 5", code: 5, ends: true},
		{name: "set -e", text: "set -e; false; echo no", out: "=", code: 1, ends: true, only: "bzds"},
		{name: "read", text: "read x; echo got:$x", out: "=got:foo\n", tty: "=foo\ngot:foo\n", input: true, do: typing("foo\n")},
		{name: "cat to the end", text: "cat", out: "=zed\n", tty: "=zed\nzed\n", input: true, do: typing("zed\n")},
		{name: "stty", text: "stty sane echo 2>/dev/null; echo hi", out: "=hi\n"},
		{name: "an alternate screen", text: `printf '\033[?1049h\033cXX'`, out: "=\x1b[?1049h\x1bcXX"},
		{name: "a trap on DEBUG", text: "trap 'echo D' DEBUG; echo hi", out: "hi\n", only: "b"},
		{name: "marks in prompts", text: "PS1='__DONE_0__'; PS2='__DONE_0__'; PROMPT_COMMAND='echo P'; echo hi", out: "=hi\n", only: "bzds"},
		{name: "a line of 5000", text: "echo " + a, out: "=" + a + "\n"},
		{name: "binary output", text: "head -c 20000 /dev/urandom; echo; echo bin-end", out: "bin-end\n"},
		{name: "^C of a sleep", text: "sh -c 'echo ready; exec sleep 60'", code: 130, do: interrupt},
		{name: "^C of a loop", text: "echo ready; while :; do sleep 0.05; done", code: 130, do: interrupt, only: "bzds"},
		{name: "a flood in the background", text: "timeout 2 yes >/dev/null & echo now", out: "=now\n", tty: "now\n", left: true},
		{name: "kill -9 of itself", text: "kill -9 $$", code: 137, ends: true, only: "bzds"},
		{name: "exec of the output", text: "exec >/dev/null; echo hi", out: "=", only: "bzds"},
		{name: "closed descriptors", text: `for i in 3 4 5 6 7 8 9; do eval "exec $i>&-"; done; echo hi`, out: "=hi\n", only: "bzds"},
		{name: "set -x", text: "set -x; echo hi", out: "hi\n", only: "bzds", then: "~echo ALIVE\nALIVE\n"},
		{name: "return", text: "return 3", code: 3, out: "="},
		{name: "a tab", text: "echo 'a\tb'", out: "=a\tb\n"},
		{name: "history", text: `echo "wow!! !echo"`, out: "=wow!! !echo\n"},
		{name: "UTF-8", text: "echo 'héllo 世界 🎉'", out: "=héllo 世界 🎉\n"},
		{name: "a trap on EXIT", text: "trap 'echo bye' EXIT; echo hi", out: "=hi\n", only: "bzds"},
		{name: "set -u -f and noclobber", text: "set -u; set -f; set -o noclobber; echo hi", out: "=hi\n", only: "bzds"},
		{name: "no PATH", text: "unset PATH; echo hi", out: "=hi\n", only: "bzds"},
		{name: "a shell that reads", text: `sh -c 'read y; echo y=$y'`, out: "=y=bar\n", tty: "=bar\ny=bar\n", input: true, do: typing("bar\n")},
	}
}

// The others came since.
func more() []trick {
	return []trick{
		{name: "an open heredoc", text: "cat <<EOF\nabc", out: "abc", code: anyCode, only: "bzds"},
		{name: "an open substitution", text: "echo $(date", code: anyFailure},
		{name: "an open case", text: "case x in\nx) echo", code: anyFailure, only: "bzds"},
		{name: "nothing but a comment", text: "# nothing", out: "=", code: 0},
		{name: "nothing but blanks", text: " \n\t\n", out: "=", code: 0},
		{name: "a carriage return", text: "echo hi\r", out: "=hi\r\n", only: "bzds"},
		{name: "^C and ^D bytes", text: "echo 'a\x03\x04\x1ab'", out: "=a\x03\x04\x1ab\n"},
		{name: "closed streams", text: "exec >&- 2>&- <&-", out: "=", only: "bzds"},
		{name: "closed high descriptors", text: `for i in 10 11 12 63 250 251 252 255; do eval "exec $i>&-"; done 2>/dev/null; echo hi`, out: "hi\n", only: "b"},
		{name: "redefined words", text: `printf() { :; }; echo() { :; }; read() { :; }; cd() { :; }; test() { return 0; }; true() { return 1; }; kill() { :; }; command echo hi; unset -f echo`, out: "=hi\n", only: "bd"},
		{name: "redefined words of loops", text: `break() { :; }; continue() { :; }; echo hi`, out: "=hi\n", only: "bz"},
		// The shell reports the status and then leaves its loop: its end is seen with this command, or with the next one.
		{name: "a word of the driver as an alias", text: `alias [[=false; echo ready; sleep 60`, out: "ready\n", code: anyCode, last: true, only: "b", do: interrupt},
		{name: "redefined return", text: `return() { :; }; echo hi; (exit 3)`, out: "=hi\n", code: 3, only: "bz"},
		{name: "redefined exec", text: `exec() { :; }; export() { :; }; trap() { :; }; builtin echo hi`, out: "=hi\n", only: "b"},
		{name: "redefined builtin", text: `builtin() { :; }; command() { :; }; echo hi`, out: "=hi\n", only: "b"},
		{name: "redefined unset", text: `builtin() { :; }; unset() { :; }; command() { :; }; echo hi`, out: "=hi\n", only: "b"},
		{name: "redefined builtin in zsh", text: `builtin() { :; }; echo hi`, out: "=hi\n", only: "z"},
		{name: "redefined builtin and what undoes it in zsh", text: `builtin() { :; }; unfunction() { :; }; echo hi`, out: "=hi\n", code: anyCode, only: "z", last: true},
		{name: "redefined command", text: `command() { :; }; echo hi`, out: "=hi\n", only: "bzds"},
		{name: "a builtin that fails", text: `builtin() { return 3; }; echo hi`, out: "=hi\n", only: "b"},
		{name: "a redefined dot", text: `.() { :; }; source() { :; }; echo hi`, out: "=hi\n", only: "b"},
		{name: "aliases", text: "alias echo='echo A' read=false printf=false exec=false while=false builtin=false command=false cd=false; true", out: "=", only: "bzds", then: "A ALIVE\n"},
		{name: "another IFS", text: "IFS=0123456789abcdef; echo hi", out: "=hi\n", only: "bzds"},
		{name: "another IFS that splits words", text: "setopt shwordsplit globsubst; IFS=/; echo hi", out: "=hi\n", only: "z"},
		{name: "another IFS that splits a status", text: "setopt shwordsplit; IFS=0123456789; false", out: "=", code: 1, only: "z"},
		{name: "no IFS", text: "unset IFS; echo hi", out: "=hi\n", only: "bzds"},
		{name: "TMOUT", text: "TMOUT=1; echo hi", out: "=hi\n", only: "bz"},
		{name: "posix mode", text: "set -o posix; echo hi", out: "=hi\n", only: "b"},
		{name: "a special builtin that fails", text: "set -o posix; export 1x=2; echo after", code: anyCode, only: "b"},
		{name: "an unset variable with set -u", text: "set -u; echo $nowhere; echo after", code: anyFailure, only: "bd"},
		{name: "no PROMPT_COMMAND with set -u", text: "unset PROMPT_COMMAND; set -u; echo hi", out: "=hi\n", only: "b"},
		{name: "a fatal expansion", text: "echo ${nowhere:?gone}; echo after", out: "gone", code: anyFailure, only: "b"},
		{name: "division by zero", text: "echo $((1/0)); echo after", code: anyFailure, only: "bz"},
		{name: "a readonly variable", text: "readonly RO=1; RO=2; echo after", code: anyFailure, only: "b"},
		{name: "a trap on ERR", text: "trap 'echo E' ERR; false", out: "E\n", code: 1, only: "bz"},
		{name: "a trap on INT", text: "trap 'echo T' INT; echo hi", out: "=hi\n", only: "bzds"},
		{name: "a trap on RETURN", text: "trap 'echo R' RETURN; echo hi", out: "hi\n", only: "b", then: "ALIVE\nR\n"},
		{name: "ignored signals", text: "trap '' INT TERM HUP QUIT; echo hi", out: "=hi\n", only: "bzds"},
		{name: "set -e that does not fail", text: "set -e; echo hi", out: "=hi\n", only: "bzds"},
		{name: "set -e and a condition", text: "set -e; if false; then :; fi; echo hi", out: "=hi\n", only: "bzds"},
		{name: "pipefail and errtrace", text: "set -o pipefail -E -T; false | true", code: 1, only: "b"},
		{name: "set -v", text: "set -v\necho hi", out: "hi\n", only: "bzds", then: "echo ALI''VE\nALIVE\n"},
		{name: "a large umask", text: "umask 777; echo hi", out: "=hi\n"},
		{name: "a directory that vanishes", text: "d=$(mktemp -d); cd $d; rmdir $d; echo hi", out: "=hi\n", only: "bzds"},
		{name: "a directory with a newline", text: "d=$(mktemp -d)/'a\nb c'; mkdir \"$d\"; cd \"$d\"; echo hi", out: "=hi\n", only: "bzds"},
		{name: "PWD is not true", text: "PWD=/nowhere; unset OLDPWD; echo hi", out: "=hi\n", only: "bzds"},
		{name: "no environment", text: "for v in $(env | sed -n 's/^\\([A-Za-z_][A-Za-z0-9_]*\\)=.*/\\1/p'); do unset $v; done 2>/dev/null; echo hi", out: "hi\n", only: "bds"},
		{name: "an exec", text: "exec sh -c 'echo hi; exit 6'", out: "=hi\n", code: 6, ends: true},
		{name: "an exec of nothing", text: "exec /nowhere/at/all", code: anyFailure, ends: true, only: "ds"},
		{name: "exit in a function", text: "f() { exit 4; }; f", code: 4, ends: true, only: "bzds"},
		{name: "exit in a function of fish", text: "function f; exit 4; end; f; echo no", out: "=", code: 4, ends: true, only: "f"},
		{name: "exit in a block", text: "if true; exit 6; end; echo no", out: "=", code: 6, ends: true, only: "f"},
		{name: "exit with a trap", text: "trap 'echo bye' EXIT; exit 9", out: "bye\n", code: 9, ends: true, only: "bzds"},
		{name: "a subshell that exits", text: "(exit 8)", code: 8, only: "bzds"},
		{name: "a subshell's own exec", text: "(exec >/dev/null; echo no); echo yes", out: "=yes\n", only: "bzds"},
		{name: "a child in the background", text: "(sleep 60; echo late) & echo now", out: "now\n", left: true, only: "bzds"},
		{name: "a child that is let go", text: "nohup sleep 60 >/dev/null 2>&1 & disown 2>/dev/null; setsid sleep 60 & echo now", out: "now\n", left: true, only: "bz"},
		{name: "wait", text: "sleep 0.05 & wait $!; echo $?", out: "=0\n", tty: "0\n", only: "bzds"},
		{name: "a crash of a child", text: "sh -c 'kill -SEGV $$' 2>/dev/null", code: 139, only: "bzds"},
		{name: "a stop of itself", text: "echo ready; kill -STOP $$; echo on", out: "ready\n", code: anyCode, do: stop(200 * time.Millisecond), only: "bzds"},
		{name: "a loop of builtins", text: "echo ready; while :; do :; done", code: 130, do: interrupt, only: "bzds"},
		{name: "a stop of a loop", text: "echo ready; while :; do :; done", code: 130, do: stop(time.Minute), only: "bzds"},
		{name: "a stop of a sleep", text: "sh -c 'echo ready; exec sleep 60'", code: 130, do: stop(time.Minute)},
		{name: "a loop that does not listen", text: "trap '' INT; echo ready; while :; do :; done", code: 137, ends: true, do: stop(0), only: "bzds"},
		{name: "a child that does not listen", text: stubborn, code: anyFailure, do: stop(100 * time.Millisecond), only: "bzds"},
		{name: "a child that does not listen, whose status a signal may take from fish", text: stubborn, code: anyCode, do: stop(100 * time.Millisecond), only: "f"},
		{name: "a read that waits", text: "echo ready; read x; echo \"got:$x\"", code: 130, input: true, do: interruptAtInput, only: "bzds"},
		{name: "input that is not read", text: "echo hi", out: "=hi\n", tty: "hi\n", input: true, do: func(r *run) { r.proc.Do(backends.Input{Data: []byte("echo no\nexit 3\n")}) }},
		{name: "input that ends at once", text: "cat; echo end", out: "=end\n", input: true, do: typing("")},
		{name: "a forged status", text: `printf '0123456789abcdef 0 /\0 0 /\0garbage\0\0\0ready 0 /nowhere\0' >` + sideOf + `/st; sleep 0.05; echo hi; (exit 7)`, out: "=hi\n", code: 7, only: "bzds"},
		{name: "a forged status without an end", text: `head -c 20000 /dev/zero | tr '\0' x >` + sideOf + `/st; echo hi`, out: "=hi\n", only: "bzds"},
		{name: "a forged fence", text: `printf '\033]133;D;0;0123456789abcdef\a\033]133;C\a'; (exit 7)`, out: "133;D;0", code: 7, only: "bzds"},
		{name: "much output at once", text: "head -c 3000000 /dev/zero | tr '\\0' x; echo", out: "xxxx\n"},
		{name: "a text of 200 KB", text: "echo hi\n" + strings.Repeat("# padding 0123456789\n", 10_000), out: "=hi\n"},
		{name: "a word of 200 KB", text: ": " + strings.Repeat("x", 200_000) + "\necho hi", out: "=hi\n", only: "bzds"},
		{name: "many processes", text: "ulimit -n 200; f() { [ $1 -gt 0 ] && { f $(($1-1)) & f $(($1-1)) & wait; }; }; f 4; echo hi", out: "hi\n", only: "bd"},
		{name: "few descriptors", text: "ulimit -n 16; echo hi", out: "=hi\n", only: "bzds", not: "z"},
		{name: "too few descriptors", text: "ulimit -n 3; echo hi", out: "hi\n", code: anyCode, only: "bds"},
		{name: "no files", text: "ulimit -f 0; echo hi", out: "=hi\n", code: anyCode, only: "bds", last: true},
		{name: "positional parameters", text: "set -- a b c; echo $#", out: "=3\n", only: "bzds"},
		{name: "break and continue", text: "break; continue; break 5; echo hi", code: anyCode, only: "zds"},
		{name: "break in no loop", text: "echo hi; break; echo no", out: "=hi\nbash: break: " + noLoop, code: 1, only: "b"},
		{name: "break of more loops than there are", text: "for i in 1 2; do echo $i; break 5; done; echo no", out: "=1\nbash: break: " + noLoop, code: 1, only: "b"},
		{name: "continue in no loop", text: "echo hi; continue; echo no", out: "=hi\nbash: continue: " + noLoop, code: 1, only: "b"},
		{name: "break and continue in fish", text: "break; continue; echo hi", out: "hi\n", only: "f"},
		{name: "return in a block", text: "if true; return 3; end; echo no", out: "=", code: 3, only: "f"},
		{name: "another IFS in fish", text: "set -g IFS e; echo hi", out: "=hi\n", only: "f"},
		{name: "redefined eval", text: "function eval; end; function source; end; echo hi", out: "=hi\n", only: "f"},
		{name: "redefined words of fish", text: "for f in contains math string source echo printf true false exit; function $f; return 3; end; end; builtin echo hi; functions -e echo", out: "=hi\n", only: "f"},
		{name: "a fish that may read ten bytes", text: "set fish_read_limit 10; echo hi", out: "=hi\n", only: "f"},
		{name: "a signal to the group", text: "trap : TERM; kill -TERM 0 2>/dev/null; echo hi", out: "hi\n", code: anyCode, only: "b"},
		{name: "HUP to itself", text: "kill -HUP $$; sleep 60", code: anyFailure, ends: true, only: "bzds"},
	}
}

const noLoop = "only meaningful in a loop: what stands behind it was not run\n"

// stubborn is a child that only a KILL ends.
const stubborn = `sh -c 'trap "" INT TERM; echo ready; sleep 60; sleep 60'`

// sideOf finds the directory of the shell, as somebody could who forges its words.
const sideOf = `"$(dirname "$(ls -t $TROUPE_SHELLS/troupe-shell-*/st | head -1)")"`
