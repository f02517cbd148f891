package shelltext_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"troupe/internal/shelltext"
	"troupe/internal/test/need"
	"troupe/messages"
)

// dump is what a shell tells, in fields.
func dump(fields ...string) []byte {
	return []byte(strings.Join(append(fields, "end", "end", ""), "\x00") + "\x00")
}

// function is one that bash tells.
func function(name, body string) []string {
	return []string{"function", name, name + " () \n{ \n    " + body + "\n}\n"}
}

// Which functions are there: not those of common tools, nor what begins with an underscore,
// but for what is called by one that is there (R-060, claude-code#81694).
func TestSnapshotFunctions(t *testing.T) {
	fields := slices.Concat(
		function("go", `_helper "$@"`), function("_helper", "__deep; builtin cd"), function("__deep", ":"), function("_unused", "cd"),
		function("git", "_git_only"), function("_git_only", ":"), function("a-b.c", ":"), function("_odd-name", ":"), function("user", "x=$(_odd-name)"),
		function("while", ":"), function("a b", ":"), function("-x", ":"), function("x=y", ":"), function("__troupe_tell", ":"), function("", ":"),
		[]string{"alias", "v", "_of_alias x"}, function("_of_alias", ":"), []string{"alias", "ls", "_of_ls"}, function("_of_ls", ":"),
	)
	text, err := shelltext.Snapshot(shelltext.Bash, dump(fields...))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for line := range strings.Lines(text) {
		if name, _, ok := strings.Cut(line, " () "); ok {
			names = append(names, name)
		}
	}
	if want := []string{"__deep", "_helper", "_odd-name", "_of_alias", "a-b.c", "go", "user"}; !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
}

// No alias and no function takes the place of a builtin, and its helpers are not there either: those
// that the shell names, and of a sh, which names none, those that each has.
func TestSnapshotOverBuiltins(t *testing.T) {
	for kind, fields := range map[string][]string{
		shelltext.Bash: {"builtins", "", "enable .\nenable cd\nenable -n test\nenable mapfile\nenable enable"},
		shelltext.Zsh:  {"builtins", "", "cd r whence . mapfile enable", "alias", "-", "cd -"},
		shelltext.Sh:   nil,
	} {
		names := []string{"cd", "test", "export", "read", "command", ".", ":", "getopts", "umask"}
		if kind != shelltext.Sh {
			names = append(names, "mapfile", "enable")
		}
		if kind == shelltext.Zsh {
			names = append(names, "r", "whence")
		}
		told := slices.Clone(fields)
		for _, name := range names {
			told = slices.Concat(told, function(name, "_of_it"), []string{"alias", name, "_of_it"})
		}
		told = slices.Concat(told, function("_of_it", ":"), function("mine", ":"), []string{"alias", "also", "mine"})
		text, err := shelltext.Snapshot(kind, dump(told...))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(text) {
			name, _, is := strings.Cut(line, " () ")
			if def, ok := strings.CutPrefix(line, "alias "); ok {
				name, _, is = strings.Cut(strings.TrimPrefix(def, "-- "), "=")
			}
			if is && (slices.Contains(names, name) || name == "_of_it") {
				t.Errorf("%s: %q is there", kind, name)
			}
		}
		if !strings.Contains(text, "\nmine () ") || !strings.Contains(text, "also='mine'\n") {
			t.Errorf("%s: what is the user's is not in\n%s", kind, text)
		}
	}
}

// A function that zsh runs by itself would belong to every command.
func TestSnapshotHooks(t *testing.T) {
	fields := slices.Concat(function("chpwd", ":"), function("zshexit", ":"), function("TRAPEXIT", ":"), function("TRAPZERR", ":"))
	for kind, want := range map[string]bool{shelltext.Zsh: false, shelltext.Bash: true} {
		text, err := shelltext.Snapshot(kind, dump(fields...))
		if err != nil || strings.Contains(text, "chpwd") != want || strings.Contains(text, "zshexit") != want || strings.Contains(text, "TRAP") != want {
			t.Errorf("%s: %v\n%s", kind, err, text)
		}
	}
}

// A snapshot under which cd fails with set -u is not used.
func TestSnapshotIsTriedUnderNounset(t *testing.T) {
	for name, texts := range map[string]map[string]bool{
		"bash": {"": true, "cd() { builtin cd \"$@\" || return; }\n": true, "cd() { [[ $unset ]]; builtin cd \"$@\"; }\n": false, "cd() { echo \"$2\"; }\n": false},
		"zsh":  {"": true, "chpwd() { : }\n": true, "chpwd() { : $unset }\n": false, "cd() { builtin cd $1$unset }\n": false},
		"sh":   {"": true, "cd() { : $unset; }\n": false},
	} {
		t.Run(name, func(t *testing.T) {
			path := name // each machine has bash and sh
			if name == "zsh" {
				path = need.Program(t, name)
			}
			for text, want := range texts {
				file := filepath.Join(t.TempDir(), "snapshot")
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				_, try := shelltext.SnapshotChecks(path, file, "word")
				said, err := exec.CommandContext(t.Context(), try[0], try[1:]...).CombinedOutput()
				if got := err == nil && string(said) == "word"; got != want {
					t.Errorf("%q: %q, %v", text, said, err)
				}
			}
		})
	}
}

// A snapshot depends on the files of the user that the start file names.
func TestSourcedFiles(t *testing.T) {
	text := `# . ~/comment is one, too: it costs one comparison
if [ -f ~/.bash_aliases ]; then
	. ~/.bash_aliases
fi
[[ -r $HOME/.aliases ]] && source "$HOME/.aliases"
test -f "${HOME}/.cargo/env" && \. "${HOME}"/.cargo/env; source ~/b+c@d-1.sh
. /etc/bashrc
. "$NVM_DIR/nvm.sh"
resource ~/no; echo x. ~/no
`
	want := []string{"/h/comment", "/h/.bash_aliases", "/h/.aliases", "/h/.cargo/env", "/h/b+c@d-1.sh"}
	if got := shelltext.SourcedFiles(text, []string{"HOME=/h"}); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if got := shelltext.SourcedFiles(text, nil); got != nil {
		t.Errorf("without a home: %q", got)
	}
	if got := shelltext.SourcedFiles(strings.Repeat(". ~/x\n", 1000), []string{"HOME=/h"}); len(got) != 64 {
		t.Errorf("%d files", len(got))
	}
}

// No option is there that changes whether a command runs (claude-code#47689).
func TestSnapshotOptions(t *testing.T) {
	for _, c := range []struct {
		kind, set, shopt string
		want, never      []string
	}{
		{
			shelltext.Bash, "set -o onecmd\nset -o monitor\nset -o errexit\nset -o nounset\nset -o noexec\nset -o xtrace\nset -o restricted\nset -o pipefail\nset +o noclobber\n",
			"shopt -s nullglob\nshopt -u globstar\nshopt -s extdebug\nshopt -s login_shell\nshopt -s restricted_shell\nshopt -x dotglob\nnoise\n",
			[]string{"\nset -o pipefail\n", "\nshopt -s nullglob\n", "\nshopt -u globstar\n", "\nshopt -s expand_aliases\n"},
			[]string{"onecmd", "monitor", "errexit", "nounset", "noexec", "xtrace", "restricted", "noclobber", "extdebug", "login", "dotglob", "noise"},
		},
		{
			shelltext.Zsh, "set -o errexit\nset -o extendedglob\nset -o nonomatch\nset +o nomultios\nset -o singlecommand\nset +o noexec\nset -o rcquotes\n", "shopt -s x\n",
			[]string{"\nsetopt extendedglob\n", "\nunsetopt nomatch\n", "\nsetopt multios\n"},
			[]string{"errexit", "singlecommand", "exec", "rcquotes", "shopt"},
		},
		{shelltext.Sh, "set -o noclobber\nset -o errexit\n", "", []string{"\nset -o noclobber\n"}, []string{"errexit", "shopt", "alias --"}},
	} {
		text, err := shelltext.Snapshot(c.kind, dump("set", "", c.set, "shopt", "", c.shopt, "path", "", "/it's"))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range append(c.want, "export PATH='/it'\\''s'\n") {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q is not in\n%s", c.kind, want, text)
			}
		}
		for _, never := range c.never {
			if strings.Contains(text, never) {
				t.Errorf("%s: %q is in\n%s", c.kind, never, text)
			}
		}
	}
}

// The aliases that a shell writes come out as they were, whichever way they were quoted.
func TestSnapshotAliases(t *testing.T) {
	told := `alias ll='ls -l'
alias -- -='cd -'
q='it'\''s "x"'
d='it'"'"'s $(x)'
alias two='one
two'
plain=word
alias grep='grep --color'
alias while=x
alias bad=$(rm -rf /)
odd"name=x
alias also="$HOME"
last=here`
	text, err := shelltext.Snapshot(shelltext.Bash, dump("aliases", "", told))
	if err != nil {
		t.Fatal(err)
	}
	_, aliases, _ := strings.Cut(text, "shopt -s expand_aliases\n")
	if want := `alias -- -='cd -'
alias -- d='it'\''s $(x)'
alias -- last='here'
alias -- ll='ls -l'
alias -- plain='word'
alias -- q='it'\''s "x"'
alias -- two='one
two'
`; aliases != want {
		t.Errorf("got\n%swant\n%s", aliases, want)
	}
}

// What is not whole, or not the shell's, is no telling.
func TestBadInputSnapshot(t *testing.T) {
	for name, c := range map[string]struct {
		dump []byte
		want string
	}{
		"nothing":    {nil, "exited before"},
		"cut":        {dump("set", "", "x")[:9], "exited before"},
		"no end":     {[]byte("set\x00\x00x\x00"), "exited before"},
		"noise":      {append([]byte("noise\n"), dump("set", "", "x")...), "other output"},
		"behind":     {append(dump("set", "", "x"), "noise"...), "other output"},
		"end inside": {dump("end", "x", ""), "other output"},
		"too large":  {make([]byte, shelltext.MaxSnapshot+1), "8 MiB"},
	} {
		text, err := shelltext.Snapshot(shelltext.Bash, c.dump)
		if err == nil || err.Code != messages.Unsupported || err.Reason != "snapshot" || !strings.Contains(err.Message, c.want) || text != "" {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}

func TestSnapshotIsSourced(t *testing.T) {
	if got := shelltext.SourceSnapshot("/a'b", false); got != "[ -r '/a'\\''b' ] && . '/a'\\''b'\n" {
		t.Errorf("got %q", got)
	}
	got := shelltext.SourceSnapshot("/s", true)
	if !strings.HasPrefix(got, "__troupe_path=$PATH\n") || !strings.Contains(got, ". '/s'\nPATH=$__troupe_path\n") {
		t.Errorf("got %q", got)
	}
	if got := shelltext.SnapshotEnv([]string{"A=1", "BASH_ENV=x", "ENV=y", "ENVY=z"}); !slices.Equal(got, []string{"A=1", "ENVY=z"}) {
		t.Errorf("got %q", got)
	}
	for _, c := range []struct {
		kind, want string
		env        []string
	}{
		{shelltext.Bash, "/h/.bashrc", []string{"HOME=/h", "ZDOTDIR=/z"}},
		{shelltext.Zsh, "/z/.zshrc", []string{"HOME=/h", "ZDOTDIR=/z"}},
		{shelltext.Zsh, "/h/.zshrc", []string{"HOME=/h", "ZDOTDIR="}},
		{shelltext.Sh, "/h/.profile", []string{"HOME=/h"}},
		{shelltext.Bash, "", nil},
	} {
		if got := shelltext.StartFile(c.kind, c.env); got != c.want {
			t.Errorf("%+v: got %s", c, got)
		}
	}
	if runs := shelltext.SnapshotRuns("/usr/bin/fish"); runs != nil {
		t.Errorf("fish: %q", runs)
	}
}

// Whatever a shell tells: the parser ends, at most 1000 lines are aliases, and a snapshot that is told
// what it says tells the same again.
func FuzzSnapshot(f *testing.F) {
	f.Add("bash", dump("set", "", "set -o pipefail", "aliases", "", "alias a='b'\\''c'\n", "function", "f", "f () \n{ \n :\n}\n", "path", "", "/bin"))
	f.Add("zsh", dump("set", "", "set -o rcquotes", "alias", "a", "b\nc", "function", "_f", "echo 'x'", "function", "g", "_f"))
	f.Add("sh", dump("aliases", "", "a='x'\"'\"'y'\nb=\\\n\nc"))
	f.Add("", []byte("end\x00end\x00\x00"))
	f.Fuzz(func(t *testing.T, kind string, told []byte) {
		text, err := shelltext.Snapshot(kind, told)
		if err != nil {
			if text != "" || err.Message == "" {
				t.Fatalf("%q with %v", text, err)
			}
			return
		}
		if again, _ := shelltext.Snapshot(kind, told); again != text {
			t.Fatal("it differs from one time to the next")
		}
		if len(text) > 4*len(told)+4096 {
			t.Fatalf("%d bytes from %d", len(text), len(told))
		}
	})
}

func FuzzSnapshotAliases(f *testing.F) {
	f.Add("a", "it's $HOME\n\"x\"\\")
	f.Add("-", "")
	f.Fuzz(func(t *testing.T, name, value string) {
		if strings.Contains(name+value, "\x00") || strings.Count(value, "\n") > 900 {
			return
		}
		written := func(fields ...string) string {
			text, err := shelltext.Snapshot(shelltext.Bash, dump(fields...))
			if err != nil {
				t.Fatal(err)
			}
			_, aliases, _ := strings.Cut(text, "shopt -s expand_aliases\n")
			return aliases
		}
		direct := written("alias", name, value)
		if direct != "" && direct != fmt.Sprintf("alias -- %s=%s\n", name, shelltext.Quote(value)) {
			t.Fatalf("got %q", direct)
		}
		if read := written("aliases", "", direct); read != direct {
			t.Fatalf("%q is read as %q", direct, read)
		}
	})
}
