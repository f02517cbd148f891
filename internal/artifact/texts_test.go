package artifact

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What a model is told when there is nothing to read.
func TestErrorsSayWhatIsWrong(t *testing.T) {
	d := t.TempDir()
	for name, content := range map[string]string{"2.bash.log": "x", "10.bash.log": "y"} {
		require.NoError(t, os.WriteFile(filepath.Join(d, name), []byte(content), 0o600))
	}
	find := func(id string, dirs ...string) error {
		_, err := Find(id, dirs...)
		return err
	}
	open := func(path string) error {
		f, _, err := OpenFile(path)
		if err == nil {
			require.NoError(t, f.Close())
		}
		return err
	}
	look := func(text string, regex bool) error {
		_, err := newPattern(text, regex)
		return err
	}
	create := func(s *Store, tool string) error {
		_, err := s.Create(tool)
		return err
	}
	_, relative := NewDir("relative", "s")
	for want, err := range map[string]error{
		"an artifact is named by its id: artifact://<id>":                             find("", d),
		`invalid artifact id "1x": use a number`:                                      find("1x", d),
		"there is no artifact 7; there are 2, 10":                                     find("7", d),
		"there is no artifact 7; there are none":                                      find("7", t.TempDir()),
		"no session has a directory of artifacts":                                     find("7", filepath.Join(d, "none")),
		"no file path given":                                                          open(""),
		"is a directory":                                                              open(d),
		"is no regular file":                                                          open("/dev/null"),
		"file not found: " + d + "/3.bash.log":                                        open(d + "/3.bash.log"),
		"the pattern is empty":                                                        look("", false),
		"the pattern is longer than 4096 bytes, or repeats too much":                  look(strings.Repeat("x", 4097), false),
		"the pattern is no regular expression: missing closing ): `(`":                look("(", true),
		"no such line":                                                                ErrNoLine,
		"the directory of the session is closed":                                      ErrClosed,
		"is not a directory that belongs to this user alone (mode 0700)":              ErrNotOurs,
		"is not a file name":                                                          ErrName,
		`invalid tool "a/b": is not a file name`:                                      create(NewStore(t.TempDir()), "a/b"),
		`the directory for the files of sessions is not an absolute path: "relative"`: relative,
	} {
		require.Error(t, err, want)
		require.ErrorContains(t, err, want)
	}
}
