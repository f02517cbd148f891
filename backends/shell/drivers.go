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

	"troupe/messages"
)

// The drivers: what a shell runs so that it takes commands from the engine.
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

// DefaultShell is that of places which name none.
const DefaultShell = "bash"

// driver is how a kind of shell is made to live.
type driver struct {
	words  []string // the program and what it is started with
	name   string   // of the file of the driver; "": driverFile
	env    []string // beside the environment of the place
	script string
	quote  func(string) string
	cdWord string
	or     string // does what follows if what is before fails
	export func(name, quoted string) string
}

// The name of the file of the driver, which is started with it or told of it.
const driverFile = "driver"

// sourced runs the driver.
const sourced = ". '@DIR@/" + driverFile + "'"

// An interrupt that comes beside the text of a command ends what is sourced. Then it is
// sourced again, and goes on, as long as it is there: a zsh does not end where it is not.
const (
	sourcedAgain    = "while :; do " + sourced + "; done"
	sourcedAgainZsh = "while [[ -f '@DIR@/" + driverFile + "' ]]; do { " + sourced + " } always { __troupe_g=1 TRY_BLOCK_ERROR=0 TRY_BLOCK_INTERRUPT=0 }; done"
)

func exportPOSIX(name, quoted string) string { return "export " + name + "=" + quoted + "; " }

func exportPwsh(name, quoted string) string { return "$env:" + name + " = " + quoted + "; " }

func exportFish(name, quoted string) string { return "set -gx " + name + " " + quoted + "; " }

// drivers are the shells that can live, by name.
func drivers() map[string]*driver {
	posix := func(name string) *driver {
		return &driver{
			words: []string{name, "-c", sourcedAgain, name}, script: posixDriver, quote: quotePOSIX, cdWord: "command cd", or: "|| ", export: exportPOSIX,
		}
	}
	return map[string]*driver{
		"bash": {
			words: []string{"bash", "--norc", "--noprofile", "+H", "+o", "history", "-i"}, env: []string{"PROMPT_COMMAND=" + sourced},
			script: bashDriver, quote: quotePOSIX, cdWord: "builtin cd", or: "|| ", export: exportPOSIX,
		},
		"zsh": {
			words: []string{"zsh", "-f", "-c", sourcedAgainZsh, "zsh"}, script: zshDriver, quote: quotePOSIX, cdWord: "builtin cd", or: "|| ", export: exportPOSIX,
		},
		"fish": {
			words: []string{"fish", "--no-config", "-c", "source '@DIR@/" + driverFile + "'"}, script: fishDriver, quote: quoteFish, cdWord: "builtin cd", or: "; or ", export: exportFish,
		},
		"pwsh": {
			words: []string{"pwsh", "-NoLogo", "-NoProfile", "-NonInteractive", "-File", "@DIR@/" + driverFile + ".ps1"}, name: driverFile + ".ps1",
			script: pwshDriver, quote: quotePwsh, cdWord: "Set-Location -ErrorAction Stop -LiteralPath", or: "; ", export: exportPwsh,
		},
		"dash": posix("dash"),
		"sh":   posix("sh"),
	}
}

// driverOf finds the driver of a shell: by its name, or that of the file of a path.
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
		Code: messages.InvalidParams, Reason: "invalid_shell", Message: fmt.Sprintf("%q is no shell that can live", shell),
		Hint: "use one of " + strings.Join(slices.Sorted(maps.Keys(all)), ", ") + ", or the absolute path of one",
	}
}

// program is what is looked for: the name, or the path that was given.
func (d *driver) program(shell string) string {
	if filepath.IsAbs(shell) {
		return shell
	}
	return d.words[0]
}

// files are those that the shell finds in its directory. What it keeps for its successor
// is there from the start, so that no umask of a command can make it unreadable.
func (d *driver) files() map[string]string {
	return map[string]string{cmp.Or(d.name, driverFile): d.script, "kept0": "", "kept1": ""}
}

func (d *driver) quoteCd(dir string) string {
	if d.name != "" { // a PowerShell
		return d.cdWord + " " + d.quote(dir)
	}
	return d.cdWord + " -- " + d.quote(dir)
}

// cd goes to a directory, or ends the command as the shell says it.
func (d *driver) cd(dir string) string {
	if d.name != "" { // its errors end the text
		return d.quoteCd(dir) + d.or
	}
	return d.quoteCd(dir) + " " + d.or + "return; "
}

// lookupKey is a program, and the PATH it is looked for in.
type lookupKey struct{ program, path string }

// maxFound bounds what is kept of what was found.
const maxFound = 256

// usual is where a shell is looked for that is in no directory of the PATH.
const usual = "/bin:/usr/bin:/usr/local/bin:/opt/homebrew/bin"

// look finds the file of a shell.
func (b *Backend) look(program string, env []string) (string, *messages.Error) {
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
	for _, dir := range filepath.SplitList(w.path + ":" + usual) {
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
