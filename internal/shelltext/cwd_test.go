package shelltext_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	here "troupe/backends/disk"
	"troupe/internal/shelltext"
)

func TestR048_ADirectoryThatIsNone(t *testing.T) {
	dir := realTemp(t)
	file := filepath.Join(dir, "file")
	write(t, file)
	place := shelltext.Place{Session: dir}
	for given, text := range map[string]string{
		"gone":         "Working directory does not exist: " + dir + "/gone",
		"/gone/at/all": "Working directory does not exist: /gone/at/all",
		"file":         "Working directory is not a directory: " + file,
		"file/below":   "Working directory does not exist: " + file + "/below",
		"a/../gone":    "Working directory does not exist: " + dir + "/gone",
	} {
		got, err := shelltext.Cwd(here.Files{}, place, given)
		var refused *shelltext.CwdError
		if !errors.As(err, &refused) || err.Error() != text || got != "" {
			t.Errorf("%q gives %q, %v, want the error %q", given, got, err, text)
		}
	}
	_, err := shelltext.Cwd(forbidding{}, place, "secret")
	if want := "Working directory cannot be looked at: " + dir + "/secret"; err == nil || err.Error() != want {
		t.Errorf("a directory that may not be looked at gives %v, want %q", err, want)
	}
}

// forbidding are files that nobody may look at.
type forbidding struct{ here.Files }

func (forbidding) Stat(string) (fs.FileInfo, error) { return nil, fs.ErrPermission }

func TestR049_WhatADirectoryMeans(t *testing.T) {
	dir := realTemp(t)
	for _, name := range []string{"session/sub", "home/sub", "elsewhere"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	link(t, "../elsewhere", filepath.Join(dir, "session/link"))
	session, home := filepath.Join(dir, "session"), filepath.Join(dir, "home")
	place := shelltext.Place{Session: session, Home: home, SlashIsSession: true}
	for given, want := range map[string]string{
		"":         session,
		".":        session,
		"/":        session,
		"//":       session,
		"///":      session,
		"~":        home,
		"~/":       home,
		"~/sub":    home + "/sub",
		"sub":      session + "/sub",
		"./sub/..": session,
		"link":     dir + "/elsewhere",
		home:       home,
		"/./":      "/",
	} {
		if got, err := shelltext.Cwd(here.Files{}, place, given); err != nil || got != want {
			t.Errorf("%q is %q, %v, want %q", given, got, err, want)
		}
	}
	place.SlashIsSession = false
	if got, err := shelltext.Cwd(here.Files{}, place, "//"); err != nil || got != "/" {
		t.Errorf("in other dialects // is %q, %v", got, err)
	}
	place.Home = ""
	if got, err := shelltext.Cwd(here.Files{}, place, "~"); err == nil {
		t.Errorf("without a home ~ is %q", got)
	}
}

func TestRealPath(t *testing.T) {
	dir := realTemp(t)
	if err := os.MkdirAll(filepath.Join(dir, "a/b"), 0o755); err != nil {
		t.Fatal(err)
	}
	link(t, "b", filepath.Join(dir, "a/relative"))
	link(t, filepath.Join(dir, "a"), filepath.Join(dir, "absolute"))
	link(t, "/nowhere/at/all", filepath.Join(dir, "dangling"))
	link(t, "circle", filepath.Join(dir, "circle"))
	for name, want := range map[string]string{
		"/":                                 "/",
		dir + "/a/relative":                 dir + "/a/b",
		dir + "/absolute/relative/../b/new": dir + "/a/b/new",
		dir + "/dangling":                   "/nowhere/at/all",
		dir + "/dangling/x/../y":            "/nowhere/at/all/y",
		dir + "/not/there":                  dir + "/not/there",
	} {
		if got, err := shelltext.RealPath(here.Files{}, name); err != nil || got != want {
			t.Errorf("%s is %s, %v, want %s", name, got, err, want)
		}
	}
	if got, err := shelltext.RealPath(here.Files{}, dir+"/circle"); err == nil {
		t.Errorf("a circle leads to %s", got)
	}
}

func realTemp(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func write(t *testing.T, name string) {
	t.Helper()
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, target, name string) {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		t.Fatal(err)
	}
}
