package backends

import (
	"time"

	"troupe/messages"
)

// LiveShell makes a job a live shell: a process that stays and runs commands one by one
// (docs/design/live-shells.md). The engine makes a directory for it (0700) with Files (0600)
// and the FIFOs ctl and st. In Files, Argv and Env @DIR@ stands for the path of the directory,
// which needs no quoting. In Files @TTY@ stands for the path of its terminal, if Stdio has one.
// The shell writes "NUL ready 0 CWD NUL" to st when it can take its first command. The engine
// removes the directory when the facts of the shell are settled.
//
// A command is a job too (Spec.In). It is refused with session_closed after the end of the
// shell, and with busy while another command runs in it. If the shell does not get ready, the
// command fails with the shell's output as its error. The engine writes the text of the command
// into a file of the directory. It then writes a line of 18 bytes to ctl: a nonce of 16
// hexadecimal digits and a letter. The shell runs the file: text for the letters m and s, which the next command
// overwrites, and NONCE for n and t. With Spec.SameExports the letter is e for m and k for s:
// the shell need not save its exports for its successor. Without a terminal its output goes
// to the FIFO out. With s, k and t its standard error goes to the FIFO err. Its input is
// /dev/null. With a capital letter it is the FIFO NONCE.in; the shell writes
// "NUL NONCE run CWD NUL" to st after it has opened that. When the command has released the
// output, the shell writes "NUL NONCE STATUS CWD NUL" to st, which is the result. If the shell
// dies first, its exit is that of the command, which gets the flag session_ended. Reports with
// another nonce, or none, are ignored.
//
// Before that report, "NUL NONCE errexit SP NUL" says that set -e ends the command and the shell
// stays (flag errexit), and "NUL NONCE pipe N N … NUL" has the statuses of the last pipeline of
// the command. An engine that does not know them passes over them.
//
// An interrupt may reach the shell while it reads a line. It then writes "NUL again 0 NUL" to
// st, ignores the rest of the line, and gets the line again. A shell that Syncs answers the
// letter y with "NUL sync 0 NUL" and runs nothing. The engine sends y before a command on a
// terminal if an earlier step may have interrupted the shell, which may then still write.
//
// A shell on a terminal uses it for the input and output of each command, in the size of the
// command's Stdio. Before its report the shell writes the fence
// "ESC ] 133 ; D ; STATUS ; NONCE BEL" after the last byte; no log contains it. When a command
// starts, the terminal gets the modes of the shell's start, and input typed before is dropped.
// Output between two commands belongs to the shell, also that of background children. Their
// output during a command goes into its log; its result then has the flag
// background_output_possible. Without a fence the log ends where the terminal was idle, with
// the flag no_fence (docs/decisions/025).
//
// ProcessStarted of a command names the process of the shell. A signal goes to the processes of
// the command, and INT, as from a keyboard, to the shell too.
//
// Stopping a command interrupts it, then sends TERM and KILL to its processes. A shell that
// does not return is stopped too. Leftovers of earlier commands are not stopped. The leftovers of
// a command belong to the shell: they are counted, and TreeEnded does not wait for them unless
// OnExit is KillChildren.
type LiveShell struct {
	Files map[string]string `cbor:"1,keyasint,omitzero"`

	// From is a live shell that has ended with unsettled facts. Files of its directory whose
	// names begin with "kept" move to this shell. "": none.
	From messages.UID `cbor:"2,keyasint,omitzero"`

	// Syncs declares that the shell knows the letter y.
	Syncs bool `cbor:"3,keyasint,omitzero"`

	// Within bounds the time until the shell is ready; it is then stopped. 0: a minute.
	Within time.Duration `cbor:"4,keyasint,omitzero"`
}
