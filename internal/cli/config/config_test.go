package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/internal/cli"
	"troupe/messages"
)

// configured reads a configuration in a home of its own.
func configured(t *testing.T, text string, env ...string) (*Settings, error) {
	t.Helper()
	home := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(home, ".config/troupe"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(home, ".config/troupe/config.toml"), []byte(text), 0o600))
	return Read(&cli.Main{Env: append([]string{"HOME=" + home}, env...)})
}

func TestSettingsAreLaidOverEachOther(t *testing.T) {
	t.Parallel()
	s, err := configured(t, "socket = '/a/s'\nstate = '/a/state'\nlog = 'warn'\nhttp='127.0.0.1:7000'\n[limits]\nstarts = 3\nparallel = 7\nshells = 9\nshell_idle = '1h30m'\n[storage]\nstored = '2GiB'\nmemory = 4096\n[shells]\nrc = ['/bin/rc', '-l']\n")
	require.NoError(t, err)
	require.Equal(t, "/a/s", s.Socket)
	require.Equal(t, "/a/state", s.State)
	require.Equal(t, configCount(3), s.Limits.Starts)
	require.Equal(t, configCount(7), s.Limits.Parallel)
	require.Equal(t, configCount(9), s.Limits.Shells)
	require.Equal(t, 90*time.Minute, s.Limits.ShellIdle.Duration)
	require.Equal(t, configSize(2<<30), s.Storage.Stored)
	require.Equal(t, configSize(4096), s.Storage.Memory)
	require.Equal(t, []string{"/bin/rc", "-l"}, s.Shells["rc"])
	s, err = configured(t, "socket = '/a/s'\nstate = '/a/state'\n", "TROUPE_SOCKET=/b/s", "TROUPE_STATE=/b/state")
	require.NoError(t, err)
	require.Equal(t, "/b/s", s.Socket)
	require.Equal(t, "/b/state", s.State)
	require.True(t, s.Snapshot)
	s, err = configured(t, "socket = ''\nstate = ''\n[shells]\nRC = ['/bin/rc']\n", "XDG_RUNTIME_DIR=/r", "XDG_STATE_HOME=/s")
	require.NoError(t, err)
	require.Equal(t, "/r/troupe/daemon.sock", s.Socket)
	require.Equal(t, "/s/troupe", s.State)
	require.Contains(t, s.Shells, "RC")
	s, err = configured(t, "snapshot = false\nshell = '/bin/dash'\n")
	require.NoError(t, err)
	require.False(t, s.Snapshot)
	require.Equal(t, "/bin/dash", s.Shell)
}

func TestPlacesAreThoseOfTheUser(t *testing.T) {
	t.Parallel()
	m := &cli.Main{Env: []string{"HOME=/h", "XDG_RUNTIME_DIR=/run/user/7", "XDG_STATE_HOME=relative"}}
	s, err := Read(m)
	require.NoError(t, err)
	require.Equal(t, "/run/user/7/troupe/daemon.sock", s.Socket)
	require.Equal(t, "/h/.local/state/troupe", s.State)
	m = &cli.Main{Env: []string{"XDG_STATE_HOME=/x", "XDG_CONFIG_HOME=/c", "TMPDIR=/t"}}
	s, err = Read(m)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(s.Socket, "/t/troupe-"), s.Socket)
	require.Equal(t, "/x/troupe", s.State)
	s, err = Read(&cli.Main{}) // troupe run needs no home
	require.NoError(t, err)
	require.ErrorIs(t, s.OwnState(), &messages.Error{Code: messages.InvalidParams, Reason: "home"})
}

// An error names the line.
func TestBadInputConfig(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"socket = '/s'\n\nsokcet = '/s'\n", "line 3: unknown setting sokcet"},
		{"[limits]\nstart = 1\n", "line 2: unknown setting limits.start"},
		{"socket = 5\n", "line 1: socket must be a string in quotes"},
		{"socket = '/s\n", "line 1: "},
		{"\n[limits]\nstarts = -1\n", "line 3: limits.starts must be a whole number"},
		{"[limits]\nstarts = 'x'\n", "line 2: limits.starts must be a whole number"},
		{"[limits.starts]\nx = 1\n", "line 1: limits.starts must be a whole number"},
		{"[limits]\nshell_idle = 'soon'\n", "line 2: limits.shell_idle: invalid duration \"soon\""},
		{"[limits]\nshell_idle = '-1s'\n", "line 2: limits.shell_idle: invalid duration "},
		{"[limits]\nshell_idle = 3\n", "line 2: limits.shell_idle: invalid duration \"3\""},
		{"[storage]\nmemory = 4096\n[omp]\nmax_timeout = 5.5\n", "line 4: omp.max_timeout: invalid duration \"5.5\""},
		{"[shells]\nrc = [3]\n", "line 2: shells.rc must be a list of strings"},
		{"[limits]\nshell_idle = []\n", "line 2: limits.shell_idle must be a duration"},
		{"limits = 3\n", "line 1: limits must be a table"},
		{"[[limits]]\n", "line 1: limits must be a table"},
		{"shells = 3\n", "line 1: shells must be a table"},
		{"[shells]\nrc = '/bin/rc'\n", "line 2: shells.rc must be a list of strings"},
		{"[storage]\nmemory = -1\n", "line 2: storage.memory must be a size"},
		{"log = []\n", "line 1: log must be \"debug\""},
		{"\n# limits.shell_idle\nlimits = { starts = 1, shell_idle = 3 }\n", "line 3: limits.shell_idle: invalid duration \"3\""},
		{"limits.starts = 1\n\"limits\".'shell_idle' = 3\n", "line 2: limits.shell_idle: invalid duration \"3\""},
		{"log = 3\n", "line 1: log: invalid log level \"3\""},
		{"[storage]\nstored = 'much'\n", "line 2: "},
		{"log = 'loud'\n", "line 1: "},
		{"socket = '/s'\nsocket = '/t'\n", "line 2: "},
		{"[shells]\n\"\" = ['/bin/sh']\n", "line 2: a shell has an empty name"},
		{"[shells]\nrc = []\n", "line 2: shells.rc has no program; write rc = "},
		{"# prefix\n[omp]\nshell = 'x'\n[mcp]\n[[omp.rules]]\ntool = 'x'\n\n[limits]\nstarts = []\n", "line 9: limits.starts must be"},
		{"log = 'info'\nshell = 'bash'\n", "line 2: shell \"bash\" is relative; give an absolute path"},
		{"log = 'info'\nprefix = \"a\\nb\"\n", "line 2: the prefix of commands is more than one line"},
		{"Log = 'info'\n", "line 1: unknown setting Log; write log ("},
		{"log = 'info'\nLOG = 'info'\n", "line 2: unknown setting LOG; write log ("},
		{"\n[Limits]\nstarts = 1\n", "line 2: unknown setting Limits; write limits ("},
		{"[limits]\nstarts = 1\nShell_Idle = 'soon'\n", "line 3: unknown setting limits.Shell_Idle; write limits.shell_idle ("},
		{"limits = { Starts = 1 }\n", "line 1: unknown setting limits.Starts; write limits.starts ("},
		{"[[omp.rules]]\ntool = 'x'\n[[omp.rules]]\nTool = 'x'\n", "line 4: unknown setting omp.rules.Tool; write omp.rules.tool ("},
		{"[omp]\nrules = [{Tool = 'x'}]\n", "unknown setting omp.rules.Tool; write omp.rules.tool ("},
		{"log = 'info'\nsocket = 'run/s'\n", "line 2: socket \"run/s\" is relative; give an absolute path"},
		{"state = '~/state'\n", "line 1: state \"~/state\" is relative; give an absolute path"},
		{"[notify]\nsecret_file = 'secret'\n", "line 2: notify.secret_file \"secret\" is relative; give an absolute path"},
		{"snapshot = 'yes'\n", "line 1: snapshot must be true or false"},
		{"snapshot = 1\n", "line 1: snapshot must be true or false"},
		{"[sessions]\nerrexit = 'stay'\n", "line 2: sessions.errexit is \"stay\"; write \"exit\" or \"keep\""},
		{"[sessions]\nerrexit = true\n", "line 2: sessions.errexit must be a string in quotes"},
		{"shell = true\n", "line 1: shell must be a string in quotes"},
		{"prefix = 5\n", "line 1: prefix must be a string in quotes"},
		{"\xff", "line 1: "},
	} {
		_, err := configured(t, c.text)
		require.ErrorIs(t, err, &messages.Error{Code: messages.InvalidParams, Reason: "config"}, c.text)
		require.ErrorContains(t, err, c.want, c.text)
		require.ErrorContains(t, err, "config.toml", c.text)
		for _, word := range []string{"main.", "config.Count", "config.Duration", "config.Size", "config.logLevel", "config.Rule", "TOML", "struct", "uint"} {
			require.NotContains(t, err.Error(), word, c.text)
		}
	}
	_, err := configured(t, "", "TROUPE_CONFIG=/nowhere")
	require.ErrorContains(t, err, "/nowhere cannot be read")
	require.ErrorContains(t, err, "set TROUPE_CONFIG to a file that exists and is readable, or unset it")
	_, err = Read(&cli.Main{Env: []string{"XDG_CONFIG_HOME=/dev/null"}})
	require.ErrorContains(t, err, "/dev/null/troupe/config.toml cannot be read")
	require.ErrorContains(t, err, "set HOME or XDG_CONFIG_HOME to a directory of yours")
}

// B73: what everybody may write is not obeyed.
func TestSecurityConfigOfEverybody(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "config.toml")
	require.NoError(t, os.WriteFile(file, []byte("log = 'info'\n"), 0o600))
	require.NoError(t, os.Chmod(file, 0o602))
	_, err := Read(&cli.Main{Env: []string{"HOME=/h", "TROUPE_CONFIG=" + file}})
	require.ErrorIs(t, err, &messages.Error{Code: messages.Refused, Reason: "config"})
	require.NoError(t, os.Chmod(file, 0o600))
	_, err = Read(&cli.Main{Env: []string{"HOME=/h", "TROUPE_CONFIG=" + file}})
	require.NoError(t, err)
	_, err = Read(&cli.Main{Env: []string{"HOME=/h", "TROUPE_CONFIG=" + t.TempDir()}})
	require.ErrorContains(t, err, "is not a regular file")
}

// A directory of the daemon is ours alone, or is not used.
func TestSecurityDirectoriesOfTheDaemon(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, OwnDirectory(filepath.Join(dir, "a/b/c")))
	info, err := os.Stat(filepath.Join(dir, "a/b/c"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	require.NoError(t, os.Symlink(filepath.Join(dir, "a"), filepath.Join(dir, "link")))
	require.ErrorContains(t, OwnDirectory(filepath.Join(dir, "link")), "symbolic link")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "open"), 0o700))
	require.NoError(t, os.Chmod(filepath.Join(dir, "open"), 0o750))
	require.ErrorContains(t, OwnDirectory(filepath.Join(dir, "open")), "mode 0750")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	require.ErrorContains(t, OwnDirectory(filepath.Join(dir, "file")), "not a directory")
}

// A comma in a size may be a point: it is refused.
func TestSizesInSettingsHaveNoCommas(t *testing.T) {
	t.Parallel()
	var s configSize
	for _, text := range []string{"1,5GB", "1,000", "5,MB", ",5"} {
		require.Error(t, s.UnmarshalText([]byte(text)), text)
	}
	require.NoError(t, s.UnmarshalText([]byte("1.5 KiB")))
	require.EqualValues(t, 1536, s)
}
