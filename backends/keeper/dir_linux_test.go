package keeper

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"troupe/messages"
)

// What is wrong with the place of a keeper is told with what helps: a limit or a full
// disk is no matter of modes and links.
func TestThePlaceOfAKeeperThatCannotBeOpened(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err          error
		code         messages.Code
		reason, hint string
	}{
		{unix.ELOOP, messages.Refused, "dir", "it must be a directory of this user alone (mode 0700), and no symbolic link"},
		{unix.EACCES, messages.Refused, "dir", "make sure that this user can make, enter and write it"},
		{unix.EMFILE, messages.ResourceExhausted, "descriptors", "end some jobs, or raise the limit of open files (ulimit -n)"},
		{&os.PathError{Op: "mkdir", Path: "/d", Err: unix.ENOSPC}, messages.ResourceExhausted, "dir", "free some space, or files, then try again"},
	} {
		want := messages.Error{Code: c.code, Reason: c.reason, Message: fmt.Sprintf("/d cannot be a keeper's directory: %v", c.err), Hint: c.hint}
		if got := asError(notOpened("/d", c.err)); *got != want {
			t.Errorf("%+v, want %+v", *got, want)
		}
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(t.TempDir(), link); err != nil {
		t.Fatal(err)
	}
	if _, err := openDir(link, false); err == nil || asError(err).Hint != "it must be a directory of this user alone (mode 0700), and no symbolic link" {
		t.Errorf("a link: %v", err)
	}
}
