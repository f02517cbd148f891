package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"troupe/backends"
	"troupe/messages"
)

// Names of a live shell's files, and placeholders in their text.
const (
	textName  = "text"
	ctlName   = "ctl"
	stName    = "st"
	dirMark   = "@DIR@"         // path of the directory
	ttyMark   = "@TTY@"         // path of the terminal
	keptStart = "kept"          // prefix of files that the next shell takes over
	shellDir  = "troupe-shell-" // prefix of the directory; the shell's ID follows
)

// makeShellDir makes the directory of a live shell and its files. A retried fork finds
// it made.
func (j *job) makeShellDir(spec *backends.Spec) *startError {
	j.mu.Lock()
	sh := j.shell
	j.mu.Unlock()
	if sh.dirMade {
		return nil
	}
	dir, hint, err := j.scriptDir()
	if err != nil {
		return unwritten(err, hint)
	}
	if strings.ContainsAny(dir, "'\"\\$`\n\r\t") { // the drivers have it in quotes
		f := refused(messages.SpawnFailed, "directory", fmt.Sprintf("a live shell cannot have its files in %q: that path has a quote, a backslash, a dollar sign or a tab", dir))
		f.err.Hint = "have the files of the node, which are in " + dir + ", in another directory: TROUPE_STATE names that of a daemon, TMPDIR that of a library"
		return f
	}
	if dir, err = os.MkdirTemp(dir, shellDir+string(j.id)+"-"); err != nil {
		return unwritten(err, hint)
	}
	sh.mu.Lock() // the next shell may be starting already, and look (takeExports)
	sh.dir, sh.dirMade = dir, true
	sh.mu.Unlock()
	if err := errors.Join(sh.write(spec.Live), sh.open()); err != nil {
		return resourceMissing("side channel for the shell", err)
	}
	sh.takeExports(spec.Live.From)
	replace := func(list []string) []string {
		list = slices.Clone(list)
		for i := range list {
			list[i] = strings.ReplaceAll(list[i], dirMark, sh.dir)
		}
		return list
	}
	spec.Argv, spec.Env = replace(spec.Argv), replace(spec.Env)
	return nil
}

// openShellTerminal assigns the terminal to a live shell, and writes the files that
// name it. A retried fork has another terminal.
func (j *job) openShellTerminal(spec *backends.Spec, io *stdio) *startError {
	if spec.Live == nil || io.term == nil {
		return nil
	}
	var tty string
	err := os.ErrClosed
	io.term.end.use(func(master int) { tty, err = slavePath(io.sys, master) })
	if err != nil {
		return resourceMissing("terminal", err)
	}
	sh := j.shell
	place := strings.NewReplacer(dirMark, sh.dir, ttyMark, tty)
	for name, text := range spec.Live.Files {
		if path := filepath.Join(sh.dir, name); strings.Contains(text, ttyMark) {
			_ = io.sys.Unlink(path) // ENOENT: first attempt
			if err := sh.writeFile(path, place.Replace(text)); err != nil {
				return resourceMissing("side channel for the shell", err)
			}
		}
	}
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.master, sh.term = io.streams[0], io.term
	return nil
}

// write writes the files, except those that name the terminal.
func (sh *liveShell) write(l *backends.LiveShell) error {
	for name, text := range l.Files {
		if strings.Contains(text, ttyMark) {
			continue
		}
		if err := sh.writeFile(filepath.Join(sh.dir, name), strings.ReplaceAll(text, dirMark, sh.dir)); err != nil {
			return err
		}
	}
	return nil
}

// writeFile writes a file that only this user can read.
func (sh *liveShell) writeFile(path, text string) error {
	sys := sh.job.engine.opt.Sys
	fd, err := sys.Create(path)
	if err != nil {
		return err
	}
	for p := []byte(text); len(p) > 0 && err == nil; {
		var n int
		n, err = sys.Write(fd, p)
		p = p[max(n, 0):]
	}
	return errors.Join(err, sys.Close(fd))
}

// open opens the side channel.
func (sh *liveShell) open() error {
	sys := sh.job.engine.opt.Sys
	var err error
	if sh.text, err = sys.Create(filepath.Join(sh.dir, textName)); err != nil {
		return err
	}
	ctl, err := openFifo(sys, filepath.Join(sh.dir, ctlName), unix.O_RDWR)
	if err != nil {
		return err
	}
	sh.controlFIFO = ctl[0]
	st, err := openFifo(sys, filepath.Join(sh.dir, stName), unix.O_RDWR)
	if err != nil {
		return err
	}
	sh.statusFIFO = readEnd{sys: sys, fd: st[0]}
	return sh.job.engine.host.pollset.listen(&sh.statusFIFO, func() {
		defer sh.job.guard()
		sh.readStatus()
	})
}

// takeExports takes over the exports that an ended shell saved.
func (sh *liveShell) takeExports(from messages.UID) {
	was := sh.job.engine.lifeOf(from)
	if was == nil || was == sh || !was.hasEnded() {
		return
	}
	files, _ := os.ReadDir(was.dir)
	for _, file := range files {
		if name := file.Name(); strings.HasPrefix(name, keptStart) {
			_ = sh.job.engine.opt.Sys.Rename(filepath.Join(was.dir, name), filepath.Join(sh.dir, name)) // on an error it starts without
		}
	}
}

// hasEnded reports whether the shell has ended or never started.
func (sh *liveShell) hasEnded() bool {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return sh.dirMade && sh.exited
}

// remove removes the directory.
func (sh *liveShell) remove() {
	sh.shut()
	if sh.dirMade {
		_ = os.RemoveAll(sh.dir)
	}
}

// shutdown removes the directory at the end of the engine.
func (sh *liveShell) shutdown() {
	sh.stopTimer()
	sh.remove()
}
