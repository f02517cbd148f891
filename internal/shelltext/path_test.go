package shelltext_test

import (
	"testing"

	"troupe/internal/shelltext"
)

// The own directories come first, in their order and as they are; then those that are new.
func TestAppendPath(t *testing.T) {
	for _, c := range []struct{ own, more, want string }{
		{"/usr/bin:/bin", "/h/bin:/usr/bin:/bin", "/usr/bin:/bin:/h/bin"},
		{"/usr/bin:/bin", "/usr/bin:/bin", "/usr/bin:/bin"},
		{"", "/h/bin:/bin", "/h/bin:/bin"},
		{"/bin", "", "/bin"},
		{"/bin:", ".:bin:::/h/bin:~/bin:/h/bin/", "/bin::/h/bin"},
		{"/usr//bin/", "/usr/bin:/it's mine", "/usr//bin/:/it's mine"},
		{"", "", ""},
	} {
		if got := shelltext.AppendPath(c.own, c.more); got != c.want {
			t.Errorf("%q and %q: got %q, want %q", c.own, c.more, got, c.want)
		}
	}
}

// The PATH of a snapshot is the one that the shell had.
func TestSnapshotPath(t *testing.T) {
	for _, want := range []string{"", "/bin", "/it's:/a b:/$HOME", "/one\n/two"} {
		text, err := shelltext.Snapshot(shelltext.Bash, dump("path", "", want, "alias", "PATH", "x"))
		if err != nil {
			t.Fatal(err)
		}
		if got := shelltext.SnapshotPath(text); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := shelltext.SnapshotPath("\nexport PATH=$(x)\n"); got != "" {
		t.Errorf("got %q", got)
	}
}
