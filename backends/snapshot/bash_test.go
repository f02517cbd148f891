package snapshot_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"troupe/backends/snapshot"
	"troupe/internal/test/need"
)

func bash(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// bashArgs begin a shell that has nothing of its user.
func bashArgs(t *testing.T) []string { return []string{bash(t), "--norc", "--noprofile"} }

// What a user has set up is there in a shell that sources the snapshot, and in no other
// order than a shell can take it.
func TestSnapshotOfBash(t *testing.T) {
	b := newBench(t, plenty)
	b.start(".bashrc", `case $- in *i*) ;; *) return ;; esac
shopt -s nullglob extglob autocd
echo noise; echo more >&2
greet() { echo "it's $1"; }
go() { _go "$@"; }
_go() { __deeper; builtin cd "$@"; }
__deeper() { :; }
_completion() { :; }
_via_alias() { echo via; }
ls() { echo hijacked; }
git() { echo hijacked; }
globbed() { case $1 in @(a|b)) echo ab ;; *) echo other ;; esac; }
doc() { cat <<'EOT'
a "quoted' $HOME
EOT
}
alias ll='ls -l' quoted='it'\''s "x" $HOME' grep='grep --color' winpty='x' va=_via_alias -- -='cd -'
alias lines='echo one
echo two'
set -o pipefail -o noclobber -o monitor
PATH=$PATH:/opt/of\ "the user's"
`)
	file, text := b.made(bash(t))
	run := func(command string) string { return b.under(bashArgs(t), file, command) }
	for command, want := range map[string]string{
		"greet you":             "it's you\n",
		"go /usr && pwd":        "/usr\n",
		"globbed b":             "ab\n",
		"doc":                   "a \"quoted' $HOME\n",
		"alias quoted":          "alias quoted='it'\\''s \"x\" $HOME'\n",
		"alias -- -":            "alias -- -='cd -'\n",
		"eval lines":            "one\ntwo\n",
		"eval va":               "via\n",
		"echo /nothing/*":       "\n",
		"false | true; echo $?": "1\n",
		"echo \"${PATH##*:}\"":  "/opt/of the user's\n",
		"type -t git ls grep winpty _completion; true": "file\nfile\nfile\n",
		"set -o | grep -c 'monitor.*on' || true":       "0\n",
		"shopt autocd | tr -d '\\t '; true":            "autocdoff\n",
		"shopt expand_aliases extglob | grep -c 'on'":  "2\n",
	} {
		if got := run(command); got != want {
			t.Errorf("%s: got %q, want %q", command, got, want)
		}
	}
	order := regexp.MustCompile(`(?s)^# .*\n\\unalias -a.*\n__deeper \(\).*\ngreet \(\).*\nshopt -s nullglob\n.*\nset -o pipefail\nshopt -s expand_aliases\nalias -- -=.*\nexport PATH='.*'\n$`)
	if !order.MatchString(text) {
		t.Errorf("the order is\n%s", text)
	}
	lacks(t, text, "noise", "onecmd", "monitor", "hijacked", "__troupe")
}

// Where the file is and who may read it; that it is made once, and anew when it is gone.
func TestSnapshotIsMadeOnce(t *testing.T) {
	b := newBench(t, plenty)
	b.start(".bashrc", "f() { :; }\n")
	file, _ := b.made(bash(t))
	dir := filepath.Dir(file)
	node, err := b.store.Dir()
	if err != nil {
		t.Fatal(err)
	}
	if dir != filepath.Join(node, "snapshots") || !regexp.MustCompile(`^snapshot-bash-[0-9]{26}\.sh$`).MatchString(filepath.Base(file)) {
		t.Errorf("it is %s", file)
	}
	for path, want := range map[string]os.FileMode{file: 0o600, dir: 0o700 | os.ModeDir} {
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	started := len(b.engine.started())
	if again, _ := b.made(bash(t)); again != file || len(b.engine.started()) != started {
		t.Errorf("made again: %s", again)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	anew, _ := b.made(bash(t))
	if anew == file {
		t.Errorf("the same file")
	}
	if err := b.maker.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(anew); !os.IsNotExist(err) {
		t.Errorf("after Close: %v", err)
	}
	has(t, b.refused(bash(t)), "shutting down")
}

// The jobs have the environment that was given and no variable that names a start file,
// nothing to read, and no children that stay.
func TestSnapshotJobsAreSurrounded(t *testing.T) {
	b := newBench(t, plenty)
	b.start(".bashrc", `read -r line && exit 7
[[ -n ${BASH_ENV-}${ENV-} ]] && exit 8
[[ -t 0 || -t 1 || -t 2 ]] && exit 9
[[ -e /proc/self/fd/3 ]] && exit 10
f() { :; }
`)
	b.made(bash(t))
	for _, s := range b.engine.started() {
		if s.OnExit != "kill" || s.Stdio.Stdin != "null" || s.Deadline <= 0 || s.Grace != 0 || string(s.Meta) != snapshot.Mark {
			t.Errorf("%+v", s)
		}
	}
}

// Those who ask at the same time have the same one.
func TestSnapshotIsMadeOnceForAll(t *testing.T) {
	b := newBench(t, plenty)
	b.start(".bashrc", "f() { :; }\n")
	files := make(chan string, 16)
	for range cap(files) {
		go func() {
			file, why := b.of(bash(t))
			if why != nil {
				t.Error(why)
			}
			files <- file
		}()
	}
	first := <-files
	for range cap(files) - 1 {
		if file := <-files; file != first {
			t.Errorf("%s and %s", first, file)
		}
	}
	if n := len(b.engine.started()); n != 3 {
		t.Errorf("%d jobs", n)
	}
}

// Without a start file there is nothing but PATH; without a home, or with another shell,
// there is no snapshot.
func TestSnapshotOfNothing(t *testing.T) {
	b := newBench(t, plenty)
	_, text := b.made(bash(t))
	has(t, text, "export PATH='/usr/local/bin:")
	for _, c := range []struct{ shell, home, want string }{
		{"/usr/bin/fish", b.home, "cannot print its setup"}, {"bash", b.home, "absolute"}, {bash(t), "", "HOME"}, {"/nowhere/bash", b.home, "cannot run the shell"},
	} {
		_, why := b.maker.Of(t.Context(), c.shell, []string{"HOME=" + c.home, "PATH=/bin"})
		if why == nil || !strings.Contains(why.Error(), c.want) {
			t.Errorf("%s at %q: %v", c.shell, c.home, why)
		}
	}
}

// A plain sh tells its aliases and PATH; of functions it cannot.
func TestSnapshotOfSh(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, plenty)
	b.start(".profile", "echo noise\nalias q='echo it\\''s \"$HOME\"' ll='ls -l' ls='ls --color'\nset -C\nf() { :; }\nexport PATH=/mine:$PATH\ntrap 'echo bye' EXIT\n")
	file, text := b.made(sh)
	if got := b.under([]string{sh}, file, "q; echo $PATH; set -o | grep -c 'noclobber.*on'"); got != "its "+b.home+"\n/mine:/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin\n1\n" {
		t.Errorf("got %q from\n%s", got, text)
	}
	lacks(t, text, "color", "noise")
	has(t, filepath.Base(file), "snapshot-sh-")
}

func TestSnapshotOfZsh(t *testing.T) {
	zsh := need.Program(t, "zsh")
	b := newBench(t, plenty)
	if err := os.WriteFile(filepath.Join(b.home, "loaded"), []byte("echo loaded\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.start(".zshrc", `[[ -o interactive ]] || return
echo noise
setopt ksh_option_print extended_glob no_nomatch err_exit no_unset monitor
fpath=($HOME)
autoload -Uz loaded missing _stub
greet() { echo "it's $1" }
go() { _go "$@" }
_go() { builtin cd "$@" }
_other() { : }
tofile() { echo hi } >/dev/null
alias ll='ls -l' q='it'\''s' ..='cd ..' -- -='cd -'
alias -g G='| grep'
git() { echo hijacked }
path+=(/mine)
`)
	file, text := b.made(zsh)
	run := func(command string) string { return b.under([]string{zsh, "-f"}, file, command) }
	for command, want := range map[string]string{
		"greet you": "it's you\n", "go /usr && pwd": "/usr\n", "loaded": "loaded\n", "tofile": "",
		"alias q ..":       "q='it'\\''s'\n..='cd ..'\n",
		"echo /nothing/*":  "/nothing/*\n",
		"echo ${path[-1]}": "/mine\n",
		"[[ -o extendedglob ]] && [[ ! -o errexit ]] && [[ ! -o nounset ]] && echo ok": "ok\n",
		"whence -w git _other missing _stub | grep -c function || true":                "0\n",
		"echo a G b": "a G b\n",
	} {
		if got := run(command); got != want {
			t.Errorf("%s: got %q, want %q", command, got, want)
		}
	}
	lacks(t, text, "noise", "hijacked", "__troupe")
}

// With rc_quotes zsh writes a quote in a function so that nobody reads it as it was: such a
// function is left out, and the others are there.
func TestSnapshotOfZshQuotes(t *testing.T) {
	zsh := need.Program(t, "zsh")
	for name, rc := range map[string]string{
		"on":            "setopt rc_quotes\nbroken() { echo 'it''s' }\nsilent() { echo 'a''b''c' }\nfine() { echo fine }\n",
		"on for a time": "setopt rc_quotes\nbroken() { echo 'it''s' }\nsetopt no_rc_quotes\nfine() { echo fine }\n",
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, plenty)
			b.start(".zshrc", rc)
			file, text := b.made(zsh)
			if got := b.under([]string{zsh, "-f"}, file, "fine"); got != "fine\n" {
				t.Errorf("got %q", got)
			}
			lacks(t, text, "broken", "silent")
		})
	}
}
