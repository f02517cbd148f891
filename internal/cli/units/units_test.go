package units

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/contrib/systemd"
)

// A path stands in the unit as systemd reads it.
func TestPathsAreQuoted(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/usr/bin/troupe":  "/usr/bin/troupe",
		"/opt/50%/troupe":  "/opt/50%%/troupe",
		"/my tools/troupe": `"/my tools/troupe"`,
		`/a"b\c/troupe`:    `"/a\"b\\c/troupe"`,
		"/it's/troupe":     `"/it's/troupe"`,
	} {
		require.Equal(t, want, quote(path))
	}
}

// login are the surroundings of a service after a login.
func login(home string) surroundings {
	return surroundingsOf(func(name string) string { return map[string]string{"HOME": home, runtimeVar: "/run/user/7"}[name] })
}

// Where shell and service manager have the same directories, a unit is that of contrib/systemd but
// for its first line and the path of the program.
func TestUnitsAreThoseOfTheTree(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	all, err := newUnits("/opt/troupe", "/run/user/7/troupe/daemon.sock", login(dir), login(dir))
	require.NoError(t, err)
	require.Len(t, all, 2)
	for _, u := range all {
		text, err := os.ReadFile("../../../contrib/systemd/" + u.name)
		require.NoError(t, err)
		require.Equal(t, filepath.Join(dir, ".config/systemd/user", u.name), u.path)
		require.Equal(t, mark+"\n"+strings.Replace(string(text), systemd.Program, "/opt/troupe", 1), u.text)
	}
	require.Contains(t, all[1].text, "\nExecStart=/opt/troupe serve\n")
	_, err = newUnits("/opt/a\nb", "/s", login(dir), login(dir))
	require.ErrorContains(t, err, "control character")
}

// A service has the directories of the shell that installs it, and its units are where the service
// manager reads them.
func TestAServiceHasTheDirectoriesOfTheShell(t *testing.T) {
	t.Parallel()
	shell := surroundingsOf(func(name string) string {
		return map[string]string{"HOME": "/home/me", configVar: "/data/50% of/config", StateVar: "/data/state/", runtimeVar: "/run/other"}[name]
	})
	all, err := newUnits("/bin/troupe", "/run/other/troupe/daemon.sock", shell, login("/home/me"))
	require.NoError(t, err)
	require.Equal(t, "/home/me/.config/systemd/user/troupe.service", all[1].path)
	require.Contains(t, all[0].text, "\nListenStream=/run/other/troupe/daemon.sock\n")
	for _, line := range []string{`"XDG_CONFIG_HOME=/data/50%% of/config"`, "XDG_STATE_HOME=/data/state/", "XDG_RUNTIME_DIR=/run/other"} {
		require.Contains(t, all[1].text, "\nEnvironment="+line+"\n")
	}

	moved := surroundingsOf(func(name string) string {
		return map[string]string{"HOME": "/home/me", configVar: "/data/config", StateVar: "/data/state", runtimeVar: "/run/user/7"}[name]
	})
	all, err = newUnits("/bin/troupe", "/run/user/7/troupe/daemon.sock", login("/home/me"), moved)
	require.NoError(t, err)
	require.Equal(t, "/data/config/systemd/user/troupe.service", all[1].path)
	require.Contains(t, all[0].text, "\nListenStream=%t/troupe/daemon.sock\n")
	require.Contains(t, all[1].text, "\nEnvironment=XDG_STATE_HOME=/home/me/.local/state\n", "a relative or missing one is below HOME")
	require.NotContains(t, all[1].text, runtimeVar)
}

// Values of systemctl show-environment are read as it writes them.
func TestValuesAreUnquoted(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"/home/me": "/home/me", "": "", "$'/my dir'": "/my dir", `$'/it\'s "a\\b"'`: `/it's "a\b"`, `$'a\tb'`: "a\tb", `$'\q'`: `$'\q'`,
	} {
		require.Equal(t, want, unquoted(value), value)
	}
}

// A file of the user is neither replaced nor removed; one of Install is both.
func TestFilesOfTheUserStay(t *testing.T) {
	t.Parallel()
	u := unit{name: "troupe.socket", path: filepath.Join(t.TempDir(), "user", "troupe.socket"), text: mark + "\nnew\n"}
	is, err := u.ours()
	require.NoError(t, err)
	require.False(t, is)
	require.NoError(t, u.write())
	u.text = mark + "\nnewer\n"
	require.NoError(t, u.write())
	text, err := os.ReadFile(u.path)
	require.NoError(t, err)
	require.Equal(t, u.text, string(text))
	is, err = u.ours()
	require.NoError(t, err)
	require.True(t, is)

	wants := filepath.Join(filepath.Dir(u.path), "sockets.target.wants", u.name)
	require.NoError(t, os.Mkdir(filepath.Dir(wants), 0o700))
	require.NoError(t, os.Symlink(u.path, wants))
	require.NoError(t, u.remove())
	require.NoFileExists(t, u.path)
	_, err = os.Lstat(wants)
	require.ErrorIs(t, err, os.ErrNotExist)

	require.NoError(t, os.WriteFile(u.path, []byte("[Socket]\n"), 0o600))
	_, err = u.ours()
	require.ErrorContains(t, err, "was not written by troupe serve --install")
}
