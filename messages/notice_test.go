package messages_test

import (
	"strings"
	"testing"

	"troupe/messages"
)

// Who is told of an end is a command or a URL that says where it is and no secret;
// others are refused with a sentence.
func TestBadInputOnFinish(t *testing.T) {
	run := func(to ...string) messages.RunCommand { return messages.RunCommand{Text: "true", OnFinish: to} }
	for _, good := range []messages.RunCommand{
		run(), run("mail -s done me"), run("http://127.0.0.1:8080/x?y=1#z", "HTTPS://[::1]/", "https://host", "http://host:/x"), run("http://[fe80::1]:65535"), run("a", "b", "c", "d"),
		run("curl ftp://host"), run("ftp://host"), run("echo http://me@host"), run(strings.Repeat("x", messages.MaxNoticeBytes)),
	} {
		if err := good.Check(); err != nil {
			t.Errorf("%q: %v", good.OnFinish, err)
		}
	}
	deep := run("true")
	deep.Scope = "notify/below"
	apart := run("true")
	apart.Detach, apart.Background = true, true
	for name, bad := range map[string]messages.RunCommand{
		"empty": run(""), "blank": run(" \n"), "NUL": run("a\x00b"), "no text": run("\xff"), "twice": run("a", "a"),
		"too many": run("a", "b", "c", "d", "e"), "too long": run(strings.Repeat("x", messages.MaxNoticeBytes+1)),
		"no host": run("http:///x"), "only a port": run("http://:80/"), "password": run("https://me:secret@host/"), "user": run("https://me@host"),
		"port": run("http://h:abc/"), "large port": run("http://h:65536/"), "two ports": run("http://h:1:2/"), "open bracket": run("http://[::1/"),
		"behind a bracket": run("http://[::1]80/"), "no address": run("http://[]/"), "space": run("https://host/a b"), "no ASCII": run("https://hóst/"), "a notice": deep, "detached": apart,
	} {
		if err := bad.Check(); err == nil || err.Reason != "on_finish" || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
