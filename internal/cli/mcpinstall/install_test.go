package mcpinstall

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/cli"
)

// user is a caller with a home directory of its own.
type user struct {
	*testing.T
	home string
	out  string // what the last call printed
}

func newUser(t *testing.T) *user { return &user{T: t, home: t.TempDir()} }

// does calls Install or Uninstall.
func (u *user) does(edit func(*cli.Main, string, bool) error, host string, dry bool) error {
	u.Helper()
	out, err := os.Create(filepath.Join(u.TempDir(), "out"))
	require.NoError(u, err)
	defer out.Close()
	err = edit(&cli.Main{Out: out, Env: []string{"HOME=" + u.home, "PATH=/nowhere"}}, host, dry)
	_, seekErr := out.Seek(0, io.SeekStart)
	require.NoError(u, seekErr)
	printed, readErr := io.ReadAll(out)
	require.NoError(u, readErr)
	u.out = string(printed)
	return err
}

// file returns the path of the host's file.
func (u *user) file(host string) string {
	u.Helper()
	h, err := find(host)
	require.NoError(u, err)
	return h.files(userDirs{home: u.home, env: func(string) (string, bool) { return "", false }})[0]
}

// has writes the host's file.
func (u *user) has(host, text string) string {
	u.Helper()
	path := u.file(host)
	require.NoError(u, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(u, os.WriteFile(path, []byte(text), 0o640))
	return path
}

func (u *user) reads(path string) string {
	u.Helper()
	text, err := os.ReadFile(path)
	require.NoError(u, err)
	return string(text)
}

// self is the path of the program that runs, as a string of JSON.
func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	require.NoError(t, err)
	text, err := json.Marshal(path)
	require.NoError(t, err)
	return string(text)
}

// Each host has a file after an installation, and the same file after a second one. A dry run
// prints the change and writes nothing. A removal leaves no server.
func TestInstallAndUninstall(t *testing.T) {
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			u := newUser(t)
			path := u.file(name)
			require.NoError(t, u.does(Install, name, true))
			require.Contains(t, u.out, "would add troupe")
			entries, err := os.ReadDir(u.home)
			require.NoError(t, err)
			require.Empty(t, entries, "a dry run writes nothing")

			require.NoError(t, u.does(Install, name, false))
			require.Contains(t, u.out, "added troupe")
			require.Contains(t, u.out, path)
			first := u.reads(path)
			for _, line := range strings.Split(strings.TrimSpace(first), "\n") {
				require.Contains(t, u.out, "+ "+line, "the change is printed")
			}
			info, err := os.Stat(path)
			require.NoError(t, err)
			require.EqualValues(t, 0o600, info.Mode().Perm())
			h, err := find(name)
			require.NoError(t, err)
			file, err := h.format.decode([]byte(first))
			require.NoError(t, err)
			entry, ok := serverIn(file, h.servers)
			require.True(t, ok)
			program, err := os.Executable()
			require.NoError(t, err)
			require.True(t, h.entry(program).isIn(entry.(map[string]any)), first)

			require.NoError(t, u.does(Install, name, false))
			require.Contains(t, u.out, "already")
			require.Equal(t, first, u.reads(path))

			require.NoError(t, u.does(Uninstall, name, true))
			require.Contains(t, u.out, "would remove troupe")
			require.Equal(t, first, u.reads(path))
			require.NoError(t, u.does(Uninstall, name, false))
			require.NotContains(t, u.reads(path), "troupe")
			require.NoError(t, u.does(Uninstall, name, false))
			require.Contains(t, u.out, "is not a server")
			leftAlone(t, filepath.Dir(path), filepath.Base(path))
		})
	}
}

// leftAlone fails if a directory has more than these entries.
func leftAlone(t *testing.T, dir string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var found []string
	for _, e := range entries {
		found = append(found, e.Name())
	}
	require.Subset(t, names, found)
}

// The rest of a file keeps every byte: other servers, order, layout, comments, line ends. A
// removal gives back the file as it was.
func TestInstallKeepsTheRest(t *testing.T) {
	entry := `"troupe": {
      "type": "stdio",
      "command": ` + self(t) + `,
      "args": ["mcp"]
    }`
	for name, c := range map[string]struct{ host, was, is string }{
		"json": {
			"claude", `{
  "numStartups": 3.50,
  "mcpServers": {
    "other": {"command": "x", "args": []}
  },
  "big": 12345678901234567890
}
`, `{
  "numStartups": 3.50,
  "mcpServers": {
    "other": {"command": "x", "args": []},
    ` + entry + `
  },
  "big": 12345678901234567890
}
`,
		},
		"comments and a trailing comma": {
			"vscode", `// the servers
{
  "servers": {
    // the first
    "other": {"command": "x"}, // its note
    /* nothing more */
  },
  "inputs": [], // none
}
`, `// the servers
{
  "servers": {
    // the first
    "other": {"command": "x"}, // its note
    /* nothing more */
    ` + entry + `,
  },
  "inputs": [], // none
}
`,
		},
		"a note on the last line": {
			"vscode", `{
  "servers": {
    "other": {"command": "x"} // its note
  }
}`, `{
  "servers": {
    "other": {"command": "x"}, // its note
    ` + entry + `
  }
}`,
		},
		"tabs and CRLF": {
			"vscode", "{\r\n\t\"servers\": {\r\n\t\t\"other\": {}\r\n\t}\r\n}\r\n",
			"{\r\n\t\"servers\": {\r\n\t\t\"other\": {},\r\n\t\t\"troupe\": {\r\n\t\t\t\"type\": \"stdio\",\r\n\t\t\t\"command\": " + self(t) + ",\r\n\t\t\t\"args\": [\"mcp\"]\r\n\t\t}\r\n\t}\r\n}\r\n",
		},
		"toml": {
			"codex", `model = "x" # the model
[mcp_servers.other] # mine
command = "x"
env = { A = "1" }

# the end
[tui]
notifications = true`, `model = "x" # the model
[mcp_servers.other] # mine
command = "x"
env = { A = "1" }

# the end
[tui]
notifications = true

[mcp_servers.troupe]
command = '` + strings.Trim(self(t), `"`) + `'
args = ['mcp']
`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			u := newUser(t)
			path := u.has(c.host, c.was)
			require.NoError(t, u.does(Install, c.host, false))
			require.Equal(t, c.is, u.reads(path))
			info, err := os.Stat(path)
			require.NoError(t, err)
			require.EqualValues(t, 0o640, info.Mode().Perm(), "the mode is kept")
			require.NoError(t, u.does(Uninstall, c.host, false))
			if c.host == "codex" { // which ends with a line end now
				c.was += "\n"
			}
			require.Equal(t, c.was, u.reads(path))
		})
	}
}

// An entry of an earlier installation gets the new path. What the user has added to it stays.
func TestInstallUpdates(t *testing.T) {
	for name, c := range map[string]struct{ host, was, is string }{
		"json": {
			"gemini", `{"mcpServers": {"troupe": {"command": "/old/troupe", "timeout": 9, "args": ["mcp"], "env": {"A": "1"}}}}`,
			`{"mcpServers": {"troupe": {"command": ` + self(t) + `, "timeout": 9, "args": ["mcp"], "env": {"A": "1"}}}}`,
		},
		"list": {
			"opencode", `{"mcp": {"troupe": {"type": "local", "command": ["/old/troupe"], "enabled": false}}}`,
			`{"mcp": {"troupe": {"type": "local", "command": [` + self(t) + `, "mcp"], "enabled": false}}}`,
		},
		"toml": {
			"codex", "[mcp_servers.troupe]\nargs = [\n  \"x\", # old\n]\ncommand = \"/old/troupe\" # a note\ntool_timeout_sec = 90\n\n[mcp_servers.troupe.env]\nA = \"1\"\n\n[tui]\n",
			"[mcp_servers.troupe]\nargs = ['mcp']\ncommand = '" + strings.Trim(self(t), `"`) + "' # a note\ntool_timeout_sec = 90\n\n[mcp_servers.troupe.env]\nA = \"1\"\n\n[tui]\n",
		},
		"toml without arguments": {
			"codex", "[mcp_servers.\"troupe\"] # mine\ncommand = \"troupe\"\n",
			"[mcp_servers.\"troupe\"] # mine\nargs = ['mcp']\ncommand = '" + strings.Trim(self(t), `"`) + "'\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			u := newUser(t)
			path := u.has(c.host, c.was)
			require.NoError(t, u.does(Install, c.host, false))
			require.Contains(t, u.out, "changed troupe")
			require.Equal(t, c.is, u.reads(path))
			require.NoError(t, u.does(Uninstall, c.host, false))
			require.NotContains(t, u.reads(path), "mcp_servers.troupe")
			require.NotContains(t, u.reads(path), `"troupe"`)
		})
	}
}

// A file that cannot be understood, or not edited without a loss, is refused and stays as it
// is.
func TestBadInputInstallRefuses(t *testing.T) {
	for name, c := range map[string]struct{ host, was, why string }{
		"half of an object":     {"claude", `{"mcpServers": {`, "unexpected EOF"},
		"a list":                {"gemini", `[1]`, "it is not an object"},
		"servers that are none": {"cursor", `{"mcpServers": [1]}`, "its mcpServers is not an object"},
		"comments in JSON":      {"claude", "{\n// note\n}", "a comment or a trailing comma"},
		"another server":        {"claude", `{"mcpServers": {"troupe": {"command": "theatre"}}}`, "starts another program"},
		"an entry of no form":   {"claude", `{"mcpServers": {"troupe": 7}}`, "starts another program"},
		"a key twice":           {"claude", `{"mcpServers": {}, "mcpServers": {"other": {}}}`, "has the key mcpServers twice"},
		"broken TOML":           {"codex", "[mcp_servers", "expected"},
		"an inline table":       {"codex", `mcp_servers = {}` + "\n", "without a loss"},
		"an inline entry":       {"codex", "[mcp_servers]\ntroupe = { command = \"troupe\" }\n", "is not a table of its own"},
	} {
		t.Run(name, func(t *testing.T) {
			u := newUser(t)
			path := u.has(c.host, c.was)
			err := u.does(Install, c.host, false)
			require.ErrorContains(t, err, c.why)
			require.ErrorContains(t, err, path)
			require.Empty(t, u.out)
			require.Equal(t, c.was, u.reads(path))
			leftAlone(t, filepath.Dir(path), filepath.Base(path))
		})
	}
	u := newUser(t)
	require.ErrorContains(t, u.does(Install, "emacs", false), "unknown host emacs")
}

// A key that is there twice, in plain letters or not, is refused: a removal of one would leave the
// other. Nothing is said to be removed.
func TestBadInputInstallRefusesAKeyThatIsThereTwice(t *testing.T) {
	const ours = `{"type": "stdio", "command": "/old/troupe", "args": ["mcp"]}`
	for name, text := range map[string]string{
		"the server":  `{"mcpServers": {"troupe": ` + ours + `, "other": {}, "troupe": ` + ours + `}}`,
		"escaped":     `{"mcpServers": {"tr\u006fupe": ` + ours + `, "troupe": ` + ours + `}}`,
		"the servers": `{"mcpServers": {"troupe": ` + ours + `}, "mcpServers": {"troupe": ` + ours + `}}`,
	} {
		t.Run(name, func(t *testing.T) {
			for _, edit := range []func(*cli.Main, string, bool) error{Uninstall, Install} {
				u := newUser(t)
				path := u.has("claude", text)
				require.ErrorContains(t, u.does(edit, "claude", false), "twice in one object; remove one of them")
				require.Empty(t, u.out)
				require.Equal(t, text, u.reads(path))
			}
		})
	}
	u := newUser(t)
	path := u.has("claude", `{"mcpServers": {"troupe": {"command": "/old/troupe", "command": "troupe"}}}`)
	require.ErrorContains(t, u.does(Install, "claude", false), "has the key command twice")
	require.NoError(t, u.does(Uninstall, "claude", false))
	require.JSONEq(t, `{"mcpServers": {}}`, u.reads(path))
}

// opencode merges several files. An installation brings the entry up to date where it is, and a
// removal removes it from each.
func TestUninstallLooksIntoEachFile(t *testing.T) {
	u := newUser(t)
	plain := u.has("opencode", `{"theme": "x", "mcp": {"troupe": {"type": "local", "command": ["/old/troupe", "mcp"]}}}`)
	dir := filepath.Dir(plain)
	comments, first := filepath.Join(dir, "opencode.jsonc"), filepath.Join(dir, "config.json")
	require.NoError(t, os.WriteFile(comments, []byte("{\n  // mine\n}\n"), 0o600))
	require.NoError(t, u.does(Install, "opencode", false))
	require.Contains(t, u.out, "changed troupe among the servers of opencode: "+plain)
	require.Contains(t, u.reads(plain), self(t))
	require.NotContains(t, u.reads(comments), "troupe")

	require.NoError(t, os.WriteFile(comments, []byte(`{"mcp": {"troupe": {"type": "local", "command": ["troupe", "mcp"]}, /* mine */ "other": {}}}`), 0o600))
	require.NoError(t, os.WriteFile(first, []byte(`{"mcp": {"troupe": {"command": ["troupe", "mcp"]}}}`), 0o600))
	require.NoError(t, u.does(Uninstall, "opencode", true))
	require.Contains(t, u.reads(plain), "troupe", "a dry run writes nothing")
	require.NoError(t, u.does(Uninstall, "opencode", false))
	for _, path := range []string{plain, comments, first} {
		require.Contains(t, u.out, "removed troupe from the servers of opencode: "+path)
		require.NotContains(t, u.reads(path), "troupe")
	}
	require.Contains(t, u.reads(comments), `/* mine */ "other": {}`)
	require.Contains(t, u.reads(plain), `"theme": "x"`)
	require.Equal(t, 1, strings.Count(u.out, "next: restart opencode"))
	require.NoError(t, u.does(Uninstall, "opencode", false))
	require.Contains(t, u.out, "is not a server")

	require.NoError(t, os.WriteFile(plain, []byte(`{"mcp": {"troupe": {"command": ["troupe", "mcp"]}}}`), 0o600))
	require.NoError(t, os.WriteFile(comments, []byte(`{"mcp": {"troupe": {"command": ["theatre"]}}}`), 0o600))
	require.ErrorContains(t, u.does(Uninstall, "opencode", false), "starts another program")
	require.Contains(t, u.reads(plain), "troupe", "what is refused for one file changes none")
}

// A fifo, a directory and a link that leads nowhere are refused at once. A link is followed:
// what it leads to is replaced.
func TestInstallFollowsLinks(t *testing.T) {
	u := newUser(t)
	path := u.file("cursor")
	require.NoError(t, os.MkdirAll(path, 0o700))
	require.ErrorContains(t, u.does(Install, "cursor", false), "not a regular file")
	require.NoError(t, os.Remove(path))
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	require.ErrorContains(t, u.does(Install, "cursor", false), "not a regular file")
	require.NoError(t, os.Remove(path))
	target := filepath.Join(u.home, "dotfiles.json")
	require.NoError(t, os.Symlink(target, path))
	require.ErrorContains(t, u.does(Install, "cursor", false), "leads to no file")
	require.NoError(t, os.WriteFile(target, []byte("{}"), 0o600))
	require.NoError(t, u.does(Install, "cursor", false))
	info, err := os.Lstat(path)
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&os.ModeSymlink)
	require.Contains(t, u.reads(target), "troupe")
}

// A file that another program writes between reading and replacing is not overwritten.
func TestInstallSeesAnotherWriter(t *testing.T) {
	u := newUser(t)
	path := u.has("cursor", `{}`)
	f, err := readFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, []byte(`{"theirs": 1}`), 0o600))
	require.ErrorContains(t, f.replace([]byte(`{"ours": 1}`)), "another program has changed it")
	require.Equal(t, `{"theirs": 1}`, u.reads(path))
	leftAlone(t, filepath.Dir(path), filepath.Base(path))
}

// FuzzInstall edits any text: the result has the same values, or the text is refused.
func FuzzInstall(f *testing.F) {
	for _, seed := range []string{`{}`, `{"mcpServers":{"a":{}}}`, "{// x\n\"mcpServers\":{\"a\":1,},}", "[mcp_servers.a]\nb=1", "[[mcp_servers.troupe]]\n", "mcp_servers.troupe.command='troupe'\n[x]", "\r\n[mcp_servers.troupe]\r\ncommand='troupe'\r\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, h := range hosts() {
			before, err := h.format.decode([]byte(text))
			if err != nil {
				continue
			}
			if entry, has := serverIn(before, h.servers); has {
				if found, _ := entry.(map[string]any); !startsTroupe(found, "") {
					continue
				}
			}
			after, err := h.format.set([]byte(text), h.servers, h.entry("/bin/troupe"))
			c := &change{hostFile: &hostFile{values: before}, text: after}
			if entry, has := serverIn(before, h.servers); has {
				c.found, _ = entry.(map[string]any)
			}
			if err != nil || !h.safe(c, "/bin/troupe") {
				continue
			}
			file, err := h.format.decode(after)
			require.NoError(t, err)
			entry, ok := serverIn(file, h.servers)
			require.True(t, ok)
			require.True(t, h.entry("/bin/troupe").isIn(entry.(map[string]any)), "%q", after)
			gone, err := h.format.remove(after, h.servers)
			if err != nil || !h.removes(&change{hostFile: &hostFile{values: file}, text: gone}) {
				continue
			}
			file, err = h.format.decode(gone)
			require.NoError(t, err)
			_, ok = serverIn(file, h.servers)
			require.False(t, ok, "%q", gone)
		}
	})
}

// A second installation sets the program, and keeps what the user has added to its arguments or
// chosen in the entry.
func TestInstallKeepsWhatTheUserAdded(t *testing.T) {
	for name, c := range map[string]struct{ old, args string }{
		"claude":   {`{"mcpServers":{"troupe":{"type":"stdio","command":"/old/troupe","args":["mcp","--keep"],"env":{"A":"b"}}}}`, `"mcp","--keep"`},
		"copilot":  {`{"mcpServers":{"troupe":{"type":"local","command":"/old/troupe","args":["mcp"],"tools":["run"]}}}`, `"tools":["run"]`},
		"opencode": {`{"mcp":{"troupe":{"type":"local","command":["/old/troupe","mcp","--keep"]}}}`, `"mcp","--keep"`},
	} {
		t.Run(name, func(t *testing.T) {
			u := newUser(t)
			path := u.has(name, c.old)
			require.NoError(t, u.does(Install, name, false))
			require.NotContains(t, u.reads(path), "/old/")
			require.Contains(t, strings.ReplaceAll(u.reads(path), " ", ""), c.args)
			require.NoError(t, u.does(Install, name, false))
			require.Contains(t, u.out, "already")
		})
	}
}
