package shell

import (
	"cmp"
	_ "embed" // the drivers
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"troupe/internal/shelltext"
	"troupe/messages"
)

// The drivers are scripts by which a shell takes commands from the engine.
//
//go:embed drivers/bash.sh
var bashDriver string

//go:embed drivers/posix.sh
var posixDriver string

//go:embed drivers/zsh.sh
var zshDriver string

//go:embed drivers/fish.fish
var fishDriver string

//go:embed drivers/pwsh.ps1
var pwshDriver string

// DefaultShell is the shell of sessions that name none.
const DefaultShell = "bash"

// driver describes how to run a kind of shell as a live shell.
type driver struct {
	argv   []string // the program and its arguments
	name   string   // of the driver's file; "": driverFile
	env    []string // added to the session's environment
	script string
	quote  func(string) string
	cdWord string
	or     string // runs what follows if the command before it fails
	export func(name, quoted string) string

	grammar shelltext.Grammar // of texts; NoGrammar: they run as they are
	check   string            // a command that may not parse (check.go)
	pipes   string            // follows a text that ends in a pipeline; "": nothing
	keep    *strings.Replacer // makes a failure under set -e end the command alone; nil: it cannot
}

// driverFile is the name of the driver's file in the shell's directory.
const driverFile = "driver"

// sourced is the command that runs the driver.
const sourced = ". '@DIR@/" + driverFile + "'"

// An interrupt between commands ends the sourced driver, and the loop sources it again. zsh
// does not exit when the file is missing, so its loop checks for the file.
const (
	sourcedAgain    = "while :; do " + sourced + "; done"
	sourcedAgainZsh = "while [[ -f '@DIR@/" + driverFile + "' ]]; do { " + sourced + " } always { __troupe_g=1 TRY_BLOCK_ERROR=0 TRY_BLOCK_INTERRUPT=0 }; done"
)

func exportPOSIX(name, quoted string) string { return "export " + name + "=" + quoted + "; " }

func exportPwsh(name, quoted string) string { return "$env:" + name + " = " + quoted + "; " }

func exportFish(name, quoted string) string { return "set -gx " + name + " " + quoted + "; " }

// drivers returns the supported shells by name.
func drivers() map[string]*driver {
	posix := func(name string) *driver {
		return &driver{
			argv: []string{name, "-c", sourcedAgain, name}, script: posixDriver, quote: quotePOSIX, cdWord: "command cd", or: "|| ", export: exportPOSIX,
			grammar: shelltext.POSIXGrammar, check: posixCheck,
		}
	}
	return map[string]*driver{
		"bash": {
			argv: []string{"bash", "--norc", "--noprofile", "+H", "+o", "history", "-i"}, env: []string{"PROMPT_COMMAND=" + sourced},
			script: bashDriver, quote: quotePOSIX, cdWord: "builtin cd", or: "|| ", export: exportPOSIX,
			grammar: shelltext.BashGrammar, check: bashCheck, pipes: bashPipes, keep: bashKeep,
		},
		"zsh": {
			argv: []string{"zsh", "-f", "-c", sourcedAgainZsh, "zsh"}, script: zshDriver, quote: quotePOSIX, cdWord: "builtin cd", or: "|| ", export: exportPOSIX,
			grammar: shelltext.ZshGrammar, check: zshCheck, pipes: zshPipes, keep: zshKeep,
		},
		"fish": {
			argv: []string{"fish", "--no-config", "-c", "source '@DIR@/" + driverFile + "'"}, script: fishDriver, quote: quoteFish, cdWord: "builtin cd", or: "; or ", export: exportFish,
		},
		"pwsh": {
			argv: []string{"pwsh", "-NoLogo", "-NoProfile", "-NonInteractive", "-File", "@DIR@/" + driverFile + ".ps1"}, name: driverFile + ".ps1",
			script: pwshDriver, quote: quotePwsh, cdWord: "Set-Location -ErrorAction Stop -LiteralPath", or: "; ", export: exportPwsh,
		},
		"dash": posix("dash"),
		"sh":   posix("sh"),
	}
}

// driverOf finds the driver of a shell by its name, or by the base name of a path.
func driverOf(shell string) (*driver, *messages.Error) {
	shell = cmp.Or(shell, DefaultShell)
	all := drivers()
	if d := all[shell]; d != nil {
		return d, nil
	}
	if d := all[filepath.Base(shell)]; d != nil && filepath.IsAbs(shell) {
		return d, nil
	}
	return nil, &messages.Error{
		Code: messages.InvalidParams, Reason: "invalid_shell", Message: fmt.Sprintf("unsupported live shell %q", shell),
		Hint: "use one of " + strings.Join(slices.Sorted(maps.Keys(all)), ", ") + ", or the absolute path of one",
	}
}

// program returns the name or path to look up.
func (d *driver) program(shell string) string {
	if filepath.IsAbs(shell) {
		return shell
	}
	return d.argv[0]
}

// files returns the files of the shell's directory. The files of saved exports exist
// from the start, so that the umask of a command cannot make them unreadable.
func (d *driver) files() map[string]string {
	return map[string]string{cmp.Or(d.name, driverFile): d.script, "kept0": "", "kept1": ""}
}

func (d *driver) quoteCd(dir string) string {
	if d.name != "" { // PowerShell
		return d.cdWord + " " + d.quote(dir)
	}
	return d.cdWord + " -- " + d.quote(dir)
}

// cd changes the directory, or ends the command with the shell's own message.
func (d *driver) cd(dir string) string {
	if d.name != "" { // PowerShell's errors end the text
		return d.quoteCd(dir) + d.or
	}
	return d.quoteCd(dir) + " " + d.or + "return; "
}

// lookupKey is a program and the PATH that it is searched in.
type lookupKey struct{ program, path string }

// maxFound bounds the cache of found shells.
const maxFound = 256

// fallbackPath holds the directories searched after the PATH.
const fallbackPath = "/bin:/usr/bin:/usr/local/bin:/opt/homebrew/bin"

// findProgram returns the file of a shell.
func (b *Backend) findProgram(program string, env []string) (string, *messages.Error) {
	w := lookupKey{program: program}
	for _, kv := range env {
		if path, ok := strings.CutPrefix(kv, "PATH="); ok {
			w.path = path
		}
	}
	b.mu.Lock()
	file := b.found[w]
	b.mu.Unlock()
	if file != "" {
		return file, nil
	}
	if file = search(w); file == "" {
		return "", &messages.Error{
			Code: messages.SpawnFailed, Reason: "ENOENT", Message: fmt.Sprintf("the shell %s is not installed on this machine", program),
			Hint: fmt.Sprintf("install the package %s, or use another shell", filepath.Base(program)),
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.found) >= maxFound {
		clear(b.found)
	}
	b.found[w] = file
	return file, nil
}

func search(w lookupKey) string {
	if filepath.IsAbs(w.program) {
		if executable(w.program) {
			return w.program
		}
		return ""
	}
	for _, dir := range filepath.SplitList(w.path + ":" + fallbackPath) {
		if file := filepath.Join(dir, w.program); filepath.IsAbs(dir) && executable(file) {
			return file
		}
	}
	return ""
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && unix.Faccessat(unix.AT_FDCWD, path, unix.X_OK, unix.AT_EACCESS) == nil
}
