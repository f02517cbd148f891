package backends

import (
	"time"

	"troupe/messages"
)

// LiveShell makes a job a live shell: a process that stays and runs commands one by one
// (docs/design/live-shells.md). The engine makes a directory for it (0700) with
// Files (0600) and the FIFOs ctl and st; in Files, Argv and Env @DIR@ stands for its path,
// which needs no quoting, and in Files @TTY@ for that of its terminal, if Stdio names one.
// When it can take its first command the shell writes "NUL ready 0 CWD NUL" to st. The directory is there
// until the facts of the shell are settled.
//
// A command is a job too (Spec.In): refused with session_closed if the shell is gone,
// with busy if another runs in it, and failed with what the shell printed if that does
// not come up. The engine writes its text into a file of the directory, and a line of 18
// bytes to ctl: a nonce (16 hexadecimal digits) and a letter. The shell runs the text: the
// file text, if the letter is m or s, which the next command overwrites; NONCE, if it is n
// or t. Where Spec.SameExports is true the letter is e for m and k for s: the shell need not
// keep for its successor what it exports. Without a terminal its output goes to the FIFO out;
// with the letters s, k and t what it writes as errors goes to the FIFO err. Its input is
// /dev/null; with a capital letter it is the FIFO NONCE.in, and when the shell has opened
// that it writes "NUL NONCE run CWD NUL" to st. When it has let go of the
// output it writes "NUL NONCE STATUS CWD NUL" to st: that is the truth about the end. If
// the shell dies first, its end is that of the command, which is flagged session_ended.
// What has another nonce, or none, changes nothing.
//
// An interrupt may meet the shell as it reads a line: it writes "NUL again 0 NUL" to st,
// and the line is told again; of the rest of the one before it makes nothing. A shell that
// Syncs answers the letter y with "NUL sync 0 NUL", and runs nothing: it is told that ahead of a
// command on a terminal if what was done for the one before may have sent it an interrupt,
// since the shell may have something to write for that.
//
// In a shell on a terminal that is the input and the output of each command, whose Stdio
// says how large it is to be. Before its report the shell writes the fence
// "ESC ] 133 ; D ; STATUS ; NONCE BEL" behind the last byte; it is in no log. The modes are
// those of the start again when a command begins, and what was typed before is dropped.
// Output that came between two commands is the shell's own, also what children in the
// background write; what they write while a command runs is in its log, and its result is
// flagged background_output_possible. Without a fence the log ends where the terminal was
// quiet, flagged no_fence (docs/decisions/025).
//
// The start of a command names the process of the shell. A signal goes to what the
// command runs, and INT, as from a keyboard, to the shell as well.
//
// A command that is stopped is interrupted, then what it started is sent TERM and
// KILL; a shell that does not come back is ended, too. What earlier commands left is let
// alone. What a command leaves behind is the shell's: it is counted, and TreeEnded does
// not wait for it, unless OnExit is KillChildren.
type LiveShell struct {
	Files map[string]string

	// From is a live shell that has ended, and whose facts are not all settled: files of
	// its directory whose names begin with "kept" are this one's now. "": none.
	From messages.UID

	// Syncs: it knows the letter y.
	Syncs bool

	// Within is how long it may take until it is ready; then it is ended. 0: a minute.
	Within time.Duration
}
