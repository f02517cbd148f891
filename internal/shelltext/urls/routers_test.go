package urls_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"troupe/backends/disk"
	"troupe/internal/shelltext/urls"
)

// tree makes files below a new directory, and links where a name has an arrow.
func tree(t *testing.T, names ...string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		name, target, isLink := strings.Cut(name, " -> ")
		full := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(full), 0o755)
		switch {
		case err != nil:
		case isLink:
			err = os.Symlink(target, full)
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(full, 0o755)
		default:
			err = os.WriteFile(full, nil, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// resolves checks where URLs lead, and by what they are refused: a want that is no path is
// the cause.
func resolves(t *testing.T, router urls.Router, use urls.Use, cases map[string]string) {
	t.Helper()
	for url, want := range cases {
		found, err := urls.Resolve(url, use, router)
		got := found.Path
		if err != nil {
			got = strings.TrimPrefix(err.Error(), url+" could not be resolved: ")
		}
		if got != want {
			t.Errorf("%s gives %q, want %q", url, got, want)
		}
	}
}

func TestR043_Skills(t *testing.T) {
	dir := tree(t, "review/SKILL.md", "review/a/b.md", "review/out -> /etc", "review/dangling -> /nowhere", "review/in -> a", "p/SKILL.md")
	skills := urls.Skills{Files: disk.Files{}, Known: []urls.SkillFile{
		{Name: "review", File: dir + "/review/SKILL.md", Dir: dir + "/review"},
		{Name: "plugin:skill", File: dir + "/p/SKILL.md", Dir: dir + "/p"},
		{Name: "plugin", File: dir + "/plugin.md", Dir: dir + "/p"},
	}}
	resolves(t, skills, urls.InCommand, map[string]string{
		"skill://review":               dir + "/review/SKILL.md",
		"skill://review/":              dir + "/review/SKILL.md",
		"skill://r%65view/a/b.md":      dir + "/review/a/b.md",
		"skill://review/a%2Fb.md":      dir + "/review/a/b.md",
		"skill://review/in/b.md":       dir + "/review/in/b.md",
		"skill://plugin:skill":         dir + "/p/SKILL.md",
		"skill://plugin%3Askill":       dir + "/p/SKILL.md",
		"skill://plugin:skill:1-5":     dir + "/p/SKILL.md",
		"skill://plugin:other":         dir + "/plugin.md",
		"skill:///x":                   "a skill URL is skill://<name> or skill://<name>/<path>",
		"skill://":                     "a skill URL is skill://<name> or skill://<name>/<path>",
		"skill://rev":                  "unknown skill rev; available: plugin, plugin:skill, review",
		"skill://%zz":                  "its percent-encoding is invalid",
		"skill://review/%4":            "its percent-encoding is invalid",
		"skill://review/%ff":           "its percent-encoding is invalid",
		"skill://review/a%00":          "its percent-encoding is invalid",
		"skill://review//etc/passwd":   "its path is absolute",
		"skill://review/%2Fetc/passwd": "its path is absolute",
		"skill://review/a/../b":        "its path has a .. in it",
		"skill://review/%2e%2e/x":      "its path has a .. in it",
		"skill://review/out/passwd":    "it leads out of " + dir + "/review",
		"skill://review/dangling":      "it leads out of " + dir + "/review",
	})
	resolves(t, urls.Skills{Files: disk.Files{}}, urls.InCommand, map[string]string{"skill://x": "unknown skill x; available: none"})
}

func TestR044_LocalRoot(t *testing.T) {
	for _, c := range [][4]string{
		{"/art", "/run", "s", "/art/local"},
		{"", "/run", "s-1.x_Y", "/run/sessions/s-1.x_Y/local"},
		{"", "/run", "a/b é:c", "/run/sessions/a_b___c/local"},
		{"", "/run", "..", "/run/sessions/__/local"},
		{"", "/run", "", "/run/sessions/_/local"},
	} {
		if got := urls.LocalRoot(c[0], c[1], c[2]); got != c[3] {
			t.Errorf("the root of %q is %s, want %s", c[:3], got, c[3])
		}
	}
}

func TestR044_LocalFiles(t *testing.T) {
	dir := tree(t, "local/a.md", "local/sub/b.md")
	root := dir + "/local"
	local := urls.LocalFiles{Files: disk.Files{}, Root: root}
	resolves(t, local, urls.InCommand, map[string]string{
		"local://a.md":       root + "/a.md",
		"local:/a.md":        root + "/a.md",
		"local:///a.md":      root + "/a.md",
		"local://x/y%20z":    root + "/x/y z",
		"local://sub/../a":   root + "/a",
		"local://":           root,
		"local://../x":       "it leads out of " + root,
		"local://%2e%2e/x":   "it leads out of " + root,
		"local:////etc":      "it leads out of " + root,
		"local://..":         "it leads out of " + root,
		"local://a%":         "its percent-encoding is invalid",
		"local://../local/a": root + "/a",
	})
	resolves(t, local, urls.ToRead, map[string]string{
		"local://a.md": root + "/a.md",
		"local://gone": "there is no such file",
		"local://sub":  "it is not a file",
	})
}

func TestR044_ParentsAreMadeForCommandsAndVariables(t *testing.T) {
	dir := tree(t)
	root := dir + "/s/local"
	local := urls.LocalFiles{Files: disk.Files{}, Root: root}
	call := urls.Call{Command: "echo > local://a/b/c.md", Env: map[string]string{"OUT": "local://env/x"}, Cwd: "local://cwd/x"}
	got, err := urls.Expand(call, local)
	if err != nil || got.Command != "echo > '"+root+"/a/b/c.md'" || got.Cwd != root+"/cwd/x" {
		t.Fatalf("%+v, %v", got, err)
	}
	for name, want := range map[string]bool{"a/b": true, "a/b/c.md": false, "env": true, "env/x": false, "cwd": false} {
		if info, err := os.Stat(filepath.Join(root, name)); (err == nil) != want {
			t.Errorf("%s is there: %v, want %v", name, err == nil, want)
		} else if want && info.Mode().Perm() != 0o700 {
			t.Errorf("%s has the mode %v", name, info.Mode())
		}
	}
	if _, err := urls.Expand(urls.Call{Command: "ls local://"}, urls.LocalFiles{Files: disk.Files{}, Root: dir + "/new"}); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir + "/new"); err != nil {
		t.Errorf("the root is not there: %v", err)
	}
	if err := os.WriteFile(root+"/file", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = urls.Expand(urls.Call{Command: "cat local://file/x/y"}, local)
	if err == nil || !strings.HasPrefix(err.Error(), "local://file/x/y could not be resolved: ") {
		t.Errorf("a file as a parent gives %v", err)
	}
	_, err = urls.Expand(urls.Call{Command: "cat local://x"}, urls.LocalFiles{Files: refusing{}, Root: root})
	checkError(t, err, "local://x", urls.Failed, "local://x could not be resolved: its directory cannot be made: permission denied")
}

func TestR044_LocalAloneIsAListing(t *testing.T) {
	dir := tree(t, "b.md", "a b.md", "sub/deep/c.md", "empty/", "link -> /etc")
	head := "# local://\n\nFiles of this session that its commands and tools share. They are in " + dir + "\n\n"
	for root, want := range map[string]string{
		dir:           head + "- local://a%20b.md\n- local://b.md\n- local://sub/deep/c.md\n",
		dir + "/none": strings.ReplaceAll(head, dir, dir+"/none") + "There are none yet.\n",
	} {
		local := urls.LocalFiles{Files: disk.Files{}, Root: root}
		found, err := urls.Resolve("local://", urls.ToRead, local)
		if err != nil || found.Text != want || found.Type != "text/markdown" {
			t.Errorf("the listing is %+v, %v\nwant %s", found, err, want)
		}
	}
	_, err := urls.Resolve("local://", urls.ToRead, urls.LocalFiles{Files: refusing{}, Root: dir})
	checkError(t, err, "local://", urls.Failed, "local:// could not be resolved: its directory cannot be listed: permission denied")
	for i := range 1100 {
		name := filepath.Join(dir, "sub", "f"+string(rune('a'+i%26))+strings.Repeat("x", i/26))
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found, err := urls.Resolve("local://", urls.ToRead, urls.LocalFiles{Files: disk.Files{}, Root: dir})
	if err != nil || strings.Count(found.Text, "\n- ") != 1000 || !strings.HasSuffix(found.Text, "\nThe first 1000 are listed.\n") {
		t.Errorf("a long listing has %d files, %v", strings.Count(found.Text, "\n- "), err)
	}
}

// fresh are directories that have more directories in them each time, and no file.
type fresh struct {
	disk.Files
	asked *int
}

func (f fresh) ReadDir(name string) ([]fs.DirEntry, error) {
	if *f.asked++; *f.asked > 2000 {
		panic("asked again and again")
	}
	if strings.HasSuffix(name, "gone") {
		return nil, fs.ErrNotExist
	}
	var entries []fs.DirEntry
	for _, name := range []string{"gone", "more"} {
		entries = append(entries, fs.FileInfoToDirEntry(folder(name)))
	}
	return entries, nil
}

// folder is the FileInfo of a directory.
type folder string

func (f folder) Name() string     { return string(f) }
func (folder) Size() int64        { return 0 }
func (folder) Mode() fs.FileMode  { return fs.ModeDir | 0o700 }
func (folder) ModTime() time.Time { return time.Time{} }
func (folder) IsDir() bool        { return true }
func (folder) Sys() any           { return nil }

func TestR044_AListingEndsWhateverTheDirectoriesAre(t *testing.T) {
	found, err := urls.Resolve("local://", urls.ToRead, urls.LocalFiles{Files: fresh{asked: new(int)}, Root: "/r"})
	if err != nil || !strings.HasSuffix(found.Text, "\nThe first 0 are listed.\n") {
		t.Errorf("the listing is %.200q, %v", found.Text, err)
	}
}

// refusing are files whose directories nobody may list or make.
type refusing struct{ disk.Files }

func (refusing) ReadDir(string) ([]fs.DirEntry, error) { return nil, errors.New("permission denied") }

func (refusing) MakeDir(string, string) error { return errors.New("permission denied") }

func TestR045_Artifacts(t *testing.T) {
	dir := tree(t, "a/0.bash.log", "a/10.bash.log", "a/2.bash-original.log", "a/notes.md", "a/3.dir/x", "a/4.link -> /etc/passwd", "b/10.other.log", "b/11.bash.log")
	artifacts := urls.Artifacts{Files: disk.Files{}, Dirs: []string{dir + "/gone", dir + "/a", dir + "/b"}}
	resolves(t, artifacts, urls.InCommand, map[string]string{
		"artifact://0":   dir + "/a/0.bash.log",
		"artifact://10":  dir + "/a/10.bash.log",
		"artifact://11":  dir + "/b/11.bash.log",
		"artifact://":    "it has no id; artifact URLs are artifact://<id>",
		"artifact://x1":  "the id x1 is not a decimal number",
		"artifact://1":   "there is no artifact 1; available: 0, 2, 10, 11",
		"artifact://3":   "there is no artifact 3; available: 0, 2, 10, 11",
		"artifact://4":   "there is no artifact 4; available: 0, 2, 10, 11",
		"artifact://../": "the id ../ is not a decimal number",
	})
	for want, dirs := range map[string][]string{
		"there is no session that has artifacts":          nil,
		"no session has a directory of artifacts yet":     {dir + "/gone"},
		"there is no artifact 7; available: none":         {dir + "/a/3.dir"},
		"there is no artifact 7; available: 0, 2, 10, 11": artifacts.Dirs,
	} {
		resolves(t, urls.Artifacts{Files: disk.Files{}, Dirs: dirs}, urls.ToRead, map[string]string{"artifact://7": want})
	}
	found, err := urls.Resolve("artifact://0", urls.ToRead, artifacts)
	if err != nil || found.Type != "text/plain" || !found.Immutable {
		t.Errorf("an artifact is %+v, %v", found, err)
	}
}

func TestR039_DirectoriesOfASession(t *testing.T) {
	dir := tree(t, "one/a.md", "one/sub/x", "one/memory_summary.md", "one/r.mdc", "two/a.md", "two/b.md", "one/out -> /etc")
	one, two := dir+"/one", dir+"/two"
	files := disk.Files{}
	resolves(t, urls.Agents(files, one, two), urls.InCommand, map[string]string{
		"agent://a":          one + "/a.md",
		"agent://b":          two + "/b.md",
		"agent://sub/x":      one + "/sub/x",
		"agent://sub":        one + "/sub",
		"agent://c":          "there is no such file",
		"agent://":           "it names nothing; such URLs are agent://<name>",
		"agent://../x":       "its path has a .. in it",
		"agent:///etc":       "its path is absolute",
		"agent://out/passwd": "it leads out of " + one,
		"agent://%":          "its percent-encoding is invalid",
	})
	resolves(t, urls.Plans(files, two), urls.ToRead, map[string]string{"plan://b.md": two + "/b.md", "plan://b": two + "/b.md", "plan://.": "there is no such file"})
	resolves(t, urls.Rules(files, one), urls.ToRead, map[string]string{"rule://r": one + "/r.mdc", "rule://sub": "there is no such file"})
	resolves(t, urls.Rules(files), urls.ToRead, map[string]string{"rule://r": "rule:// has no directory in this session"})
	resolves(t, urls.Memories(files, one), urls.ToRead, map[string]string{
		"memory://root":       one + "/memory_summary.md",
		"memory://root/":      one + "/memory_summary.md",
		"memory://root/sub/x": one + "/sub/x",
		"memory://rooted":     "it names nothing; such URLs are memory://root/<name>",
		"memory://other":      "it names nothing; such URLs are memory://root/<name>",
	})
}

func TestR047_LinksDoNotLeadOutOfLocal(t *testing.T) {
	dir := tree(t, "local/in/a", "local/ok -> in", "local/out -> ../secret", "local/abs -> /etc", "local/new -> ../made/later",
		"local/loop -> loop", "local/deep/up -> ../../secret", "secret/s", "linked -> local")
	root := dir + "/local"
	for _, use := range []urls.Use{urls.InCommand, urls.InEnv, urls.InCwd, urls.ToRead} {
		resolves(t, urls.LocalFiles{Files: disk.Files{}, Root: root}, use, map[string]string{
			"local://ok/a":       root + "/ok/a",
			"local://out/s":      "it leads out of " + root,
			"local://abs/passwd": "it leads out of " + root,
			"local://new":        "it leads out of " + root,
			"local://new/x":      "it leads out of " + root,
			"local://deep/up/s":  "it leads out of " + root,
			"local://loop":       "too many levels of symbolic links",
		})
	}
	// A root that is itself a link holds what is in the directory.
	resolves(t, urls.LocalFiles{Files: disk.Files{}, Root: dir + "/linked"}, urls.InCommand, map[string]string{
		"local://in/a":          dir + "/linked/in/a",
		"local://out/s":         "it leads out of " + dir + "/linked",
		"local://../local/in/a": "it leads out of " + dir + "/linked",
	})
	// A link that is put there later leads nowhere: the directory is made within the root.
	if err := (disk.Files{}).MakeDir(root, "out/x"); err == nil {
		t.Error("a directory was made behind a link that leads out")
	}
}

func FuzzExpand(f *testing.F) {
	for _, seed := range []string{
		"cat skill://a/b 'local://c' \"local:/d e\"", "x <<'E'\nlocal://a\nE\n", "$(cat `local:///x`)", "local://%2e%2e/x", "$'a\\'local://b'",
		"a<<A<<-'B'\nlocal://1\nA\nlocal://2\n\tB\nlocal://3", "((1<<local:/x))", "\\", "'", "local:/", "skill://\xff", "# ' local://a\nlocal://b",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		call, err := urls.Expand(urls.Call{Command: text, Env: map[string]string{"A": text}}, echoes(nil)...)
		if err != nil {
			return // more URLs than one call may have
		}
		if !strings.Contains(text, ":/") && (call.Command != text || call.Env["A"] != text) {
			t.Fatalf("%q has no URL and became %q", text, call.Command)
		}
		// What is outside of tokens stays: with paths that are as the URLs were, so does all.
		same, err := urls.Expand(urls.Call{Env: map[string]string{"A": text}}, mirrors()...)
		if unquoted := strings.NewReplacer("'", "", `"`, ""); err != nil || unquoted.Replace(same.Env["A"]) != unquoted.Replace(text) {
			t.Fatalf("%q became %q, %v", text, same.Env["A"], err)
		}
	})
}

// mirror gives back what was written.
type mirror struct{ echo }

func (mirror) Resolve(u urls.URL, _ urls.Use) (urls.Resource, error) {
	return urls.Resource{Path: u.Raw}, nil
}

func mirrors() []urls.Router {
	var all []urls.Router
	for _, scheme := range []string{"skill", "agent", "artifact", "plan", "memory", "rule", "local"} {
		all = append(all, mirror{echo{scheme, nil}})
	}
	return all
}

func FuzzLocal(f *testing.F) {
	for _, seed := range []string{"a", "../x", "%2e%2e/%2e%2e", "/", "a/../../b", "//", "%", "in/../..", "\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, rest string) {
		root := "/r/local"
		found, err := urls.Resolve("local://"+rest, urls.InCommand, urls.LocalFiles{Files: disk.Files{}, Root: root})
		if err == nil && found.Path != root && !strings.HasPrefix(found.Path, root+"/") {
			t.Fatalf("%q leads to %s", rest, found.Path)
		}
	})
}
