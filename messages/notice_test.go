package messages_test

import (
	"strings"
	"testing"

	"troupe/messages"
)

// Who is told of an end is a command or a URL that says where it is and no secret;
// others are refused with a sentence.
func TestBadInputOnFinish(t *testing.T) {
	run := func(to ...string) messages.RunCommand {
		return messages.RunCommand{Program: messages.Program{Text: "true"}, OnFinish: to}
	}
	for _, good := range []messages.RunCommand{
		run(), run("mail -s done me"), run("http://127.0.0.1:8080/x?y=1#z", "HTTPS://[::1]/", "https://host", "http://host:/x"), run("http://[fe80::1]:65535"), run("a", "b", "c", "d"),
		run("curl ftp://host"), run("U=http://x curl $U"), run("http POST localhost:8080/x"), run("bin//tool"), run("./http:/x"), run(": nothing"), run("www.sh"), run(
			"(cat; echo) > file"), run("'my tool' http://x"), run("echo http://me@host"), run(strings.Repeat("x", messages.MaxNoticeBytes)),
	} {
		if err := good.Check(); err != nil {
			t.Errorf("%q: %v", good.OnFinish, err)
		}
	}
	deep := run("true")
	deep.Scope = "notify/below"
	apart := run("true")
	apart.Mode = messages.ModeDetached
	for name, bad := range map[string]messages.RunCommand{
		"empty": run(""), "blank": run(" \n"), "NUL": run("a\x00b"), "no text": run("\xff"), "twice": run("a", "a"),
		"too many": run("a", "b", "c", "d", "e"), "too long": run(strings.Repeat("x", messages.MaxNoticeBytes+1)),
		"no host": run("http:///x"), "only a port": run("http://:80/"), "password": run("https://me:secret@host/"), "user": run("https://me@host"),
		"misspelt": run("htp://x"), "one slash": run("http:/x"), "no colon": run("https//x"), "another scheme": run("ftp://x"), "no slash": run("https:x"),
		"a password of another scheme": run("ftp://me:secret@host"), "a blank first": run(" http://x"), "quoted": run("\"https://x\""), "backslashes": run(`http:\\x`), "semicolon": run("http;//x"),
		"a host": run("www.example.org/x"), "a host and its port": run("localhost:8080/x"), "an address": run("127.0.0.1:80"), "with an argument": run("htps://x y"), "a socket": run("unix:/run/x"),
		"port": run("http://h:abc/"), "large port": run("http://h:65536/"), "two ports": run("http://h:1:2/"), "open bracket": run("http://[::1/"),
		"behind a bracket": run("http://[::1]80/"), "no address": run("http://[]/"), "space": run("https://host/a b"), "no ASCII": run("https://hóst/"), "a notice": deep, "detached": apart,
	} {
		if err := bad.Check(); err == nil || err.Reason != "on_finish" || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
