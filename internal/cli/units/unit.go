package units

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"troupe/contrib/systemd"
	"troupe/messages"
)

// mark begins each unit that Install writes. A file without it is the user's own.
const mark = "# Written by troupe serve --install, which replaces it. Changes: systemctl --user edit troupe"

// unit is a unit file of this user.
type unit struct {
	name string
	path string
	text string // as it is to be
}

// newUnits returns the units of a program, as files where systemd --user looks for them. The
// service has the directories of own, and listens at the socket of their clients.
func newUnits(program, socket string, own, manager surroundings) ([]unit, error) {
	if strings.ContainsFunc(program, unicode.IsControl) {
		return nil, &messages.Error{
			Code: messages.Refused, Reason: "path", Message: fmt.Sprintf("the path of this program, %q, has a control character, which no unit can hold", program),
			Hint: "move the program",
		}
	}
	service := strings.Replace(systemd.Service, "ExecStart="+systemd.Program+" ", "ExecStart="+quote(program)+" ", 1)
	for _, setting := range manager.settings(own) {
		service = strings.Replace(service, "\nExecStart=", "\nEnvironment="+quote(setting)+"\nExecStart=", 1)
	}
	at := systemd.Socket
	if filepath.Clean(own[runtimeVar]) != filepath.Clean(manager[runtimeVar]) {
		at = strings.Replace(at, "ListenStream="+systemd.SocketPath, "ListenStream="+strings.ReplaceAll(socket, "%", "%%"), 1)
	}
	return unitsIn(manager.units(), at, service), nil
}

// unitsIn returns the units with their texts, as files of a directory.
func unitsIn(dir, socket, service string) []unit {
	return []unit{
		{"troupe.socket", filepath.Join(dir, "troupe.socket"), mark + "\n" + socket},
		{"troupe.service", filepath.Join(dir, "troupe.service"), mark + "\n" + service},
	}
}

// quote returns a word as ExecStart= and Environment= read it: systemd expands % and splits at
// blanks.
func quote(word string) string {
	word = strings.ReplaceAll(word, "%", "%%")
	if !strings.ContainsAny(word, " \"'\\") {
		return word
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(word) + `"`
}

// ours reports whether the file of a unit is there, and an error if Install did not write it.
func (u unit) ours() (bool, error) {
	text, err := os.ReadFile(u.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("cannot read the unit: %w", err)
	case !strings.HasPrefix(string(text), mark+"\n"):
		return false, &messages.Error{
			Code: messages.Conflict, Reason: "unit", Message: u.path + " was not written by troupe serve --install",
			Hint: "remove it, or move it away, and try again",
		}
	}
	return true, nil
}

// write replaces the file of a unit.
func (u unit) write() error {
	err := os.MkdirAll(filepath.Dir(u.path), 0o700)
	var file *os.File
	if err == nil {
		file, err = os.CreateTemp(filepath.Dir(u.path), u.name+".*.new")
	}
	if err == nil {
		_, err = file.WriteString(u.text)
		err = errors.Join(err, file.Chmod(0o644), file.Close())
		if err == nil {
			err = os.Rename(file.Name(), u.path)
		}
		if err != nil {
			_ = os.Remove(file.Name())
		}
	}
	if err != nil {
		return fmt.Errorf("cannot write the unit: %w", err)
	}
	return nil
}
