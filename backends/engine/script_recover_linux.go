package engine

import (
	"os"
	"path/filepath"
	"strings"

	"troupe/backends"
	"troupe/messages"
)

// RecoverScripts removes what a dead engine left in the script directory: texts of
// commands and variables of shells. Exports of restored shells stay until these are
// settled. The caller knows that nothing of that engine lives, and does not use this
// engine yet.
func (e *Local) RecoverScripts() error {
	dir, err := e.opt.ScriptDir()
	if err != nil {
		return err
	}
	files, err := os.ReadDir(dir)
	for _, file := range files {
		path := filepath.Join(dir, file.Name())
		switch rest, shell := strings.CutPrefix(file.Name(), shellDir); {
		case shell && !e.restoreLive(path, rest), strings.HasPrefix(file.Name(), scriptFile):
			_ = os.RemoveAll(path) // the next engine tries again
		}
	}
	return err
}

// restoreLive gives a restored shell its directory with its exports.
func (e *Local) restoreLive(path, name string) bool {
	id, _, _ := strings.Cut(name, "-")
	j := e.find(messages.UID(id))
	if j == nil || j.shell != nil {
		return false
	}
	sh := newLiveShell(j, &backends.LiveShell{})
	sh.dir, sh.dirMade, sh.started, sh.ready, sh.exited = path, true, true, true, true
	j.shell = sh
	files, _ := os.ReadDir(path)
	for _, file := range files {
		if !strings.HasPrefix(file.Name(), keptStart) {
			_ = os.Remove(filepath.Join(path, file.Name()))
		}
	}
	return true
}
