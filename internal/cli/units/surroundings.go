package units

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"

	"troupe/internal/cli"
	"troupe/messages"
)

// surroundings are the directories by which troupe finds its files and systemd its units, by the
// variables that move them.
type surroundings map[string]string

// The variables of surroundings.
const (
	configVar  = "XDG_CONFIG_HOME"
	StateVar   = "XDG_STATE_HOME"
	runtimeVar = "XDG_RUNTIME_DIR"
)

// surroundingsOf returns the directories of an environment. A relative path in a variable counts
// as none.
func surroundingsOf(getenv func(string) string) surroundings {
	all := surroundings{runtimeVar: getenv(runtimeVar)}
	for name, otherwise := range map[string]string{configVar: ".config", StateVar: ".local/state"} {
		all[name] = getenv(name)
		if !filepath.IsAbs(all[name]) {
			all[name] = filepath.Join(getenv("HOME"), otherwise)
		}
	}
	return all
}

// units returns the directory of the user's own units.
func (s surroundings) units() string { return filepath.Join(s[configVar], "systemd", "user") }

// settings lists what a service needs, so that it has the directories of other surroundings: one
// NAME=VALUE each.
func (s surroundings) settings(of surroundings) (all []string) {
	for _, name := range []string{configVar, StateVar, runtimeVar} {
		if filepath.Clean(of[name]) != filepath.Clean(s[name]) {
			all = append(all, name+"="+of[name])
		}
	}
	return all
}

// ours returns the surroundings of the caller. It refuses those that no service can have.
func ours(m *cli.Main) (surroundings, error) {
	home, err := homeOf(m)
	if err != nil {
		return nil, err
	}
	all := surroundingsOf(func(name string) string { value, _ := m.Getenv(name); return value })
	if !filepath.IsAbs(all[runtimeVar]) {
		e := messages.Invalid("environment", runtimeVar+" names no directory, so that clients of this shell would not find the socket of the service")
		e.Hint = "log in, or export " + runtimeVar + "=" + loginRuntime()
		return nil, e
	}
	for _, setting := range append(surroundings{}.settings(all), "HOME="+home) {
		if strings.ContainsFunc(setting, unicode.IsControl) {
			e := messages.Invalid("environment", fmt.Sprintf("%q has a control character, which no unit can hold", setting))
			e.Hint = "move that directory"
			return nil, e
		}
	}
	return all, nil
}

// homeOf returns the home directory of the caller.
func homeOf(m *cli.Main) (string, error) {
	home, _ := m.Getenv("HOME")
	if !filepath.IsAbs(home) {
		e := messages.Invalid("home", "HOME names no directory")
		e.Hint = "set it to an absolute path"
		return "", e
	}
	return home, nil
}

// unquoted returns a value of systemctl show-environment, which writes one with special characters
// as $'…'.
func unquoted(value string) string {
	inner, quoted := strings.CutPrefix(value, "$'")
	if !quoted {
		return value
	}
	inner = strings.NewReplacer(`\'`, `'`, `"`, `\"`, `\\`, `\\`).Replace(strings.TrimSuffix(inner, "'"))
	if plain, err := strconv.Unquote(`"` + inner + `"`); err == nil {
		return plain
	}
	return value
}
