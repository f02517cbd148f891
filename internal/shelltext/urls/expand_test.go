package urls_test

import (
	"errors"
	"maps"
	"os/exec"
	"strings"
	"testing"
	"time"

	"troupe/internal/shelltext/urls"
)

// echo is a router that makes a path of every URL: /<scheme>/<rest>.
type echo struct {
	scheme string
	asked  *[]string
}

func (e echo) Scheme() string { return e.scheme }

func (e echo) Resolve(u urls.URL, _ urls.Use) (urls.Resource, error) {
	if e.asked != nil {
		*e.asked = append(*e.asked, u.Rest)
	}
	return urls.Resource{Path: "/" + u.Scheme + "/" + u.Rest}, nil
}

func echoes(asked *[]string) []urls.Router {
	var all []urls.Router
	for _, scheme := range []string{"skill", "agent", "artifact", "plan", "memory", "rule", "local"} {
		all = append(all, echo{scheme, asked})
	}
	return all
}

// expand gives a command with its URLs expanded.
func expand(t *testing.T, command string, routers ...urls.Router) string {
	t.Helper()
	call, err := urls.Expand(urls.Call{Command: command}, routers...)
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	return call.Command
}

func TestR038_PathsAreQuotedInTheCommandOnly(t *testing.T) {
	it := urls.Call{
		Command: `cat skill://it%27s local://b`,
		Env:     map[string]string{"A": "local://x y", "B": "plain"},
		Cwd:     "local://dir",
	}
	sent := maps.Clone(it.Env)
	got, err := urls.Expand(it, fixed("skill", "/it's $HOME"), fixed("local", "/b c"))
	if err != nil {
		t.Fatal(err)
	}
	if want := `cat '/it'\''s $HOME' '/b c'`; got.Command != want {
		t.Errorf("the command is %s, want %s", got.Command, want)
	}
	if got.Env["A"] != "/b c y" || got.Env["B"] != "plain" || got.Cwd != "/b c" {
		t.Errorf("env and cwd are %q and %q", got.Env, got.Cwd)
	}
	if !maps.Equal(it.Env, sent) {
		t.Errorf("the caller's env was changed to %q", it.Env)
	}
}

// What a path looks like where the shell has quotes around it already.
func TestR038_QuotesAroundAURL(t *testing.T) {
	for command, want := range map[string]string{
		`echo "see local://a and"`:                                `echo "see /p'\"\$ and"`,
		`echo 'see local://a and'`:                                `echo 'see /p'\''"$ and'`,
		`echo $'see local://a and'`:                               `echo $'see /p\'"$ and'`,
		`echo $'local://a'`:                                       `echo $'/p\'"$'`,
		`$'local://a'`:                                            `$'/p\'"$'`,
		`sh -c "cat 'local://a' b"`:                               `sh -c "cat '/p'\\''\"\$' b"`,
		`sh -c 'cat "local://a" b'`:                               `sh -c 'cat '\''/p'\''\'\'''\''"$'\'' b'`,
		`echo 'a 'local://a' b'`:                                  `echo 'a ''/p'\''"$'' b'`,
		`echo "$(cat local://a)"`:                                 `echo "$(cat '/p'\''"$')"`,
		"cat local://a # don't\ncat local://a":                    "cat '/p'\\''\"$' # don't\ncat '/p'\\''\"$'",
		"cat <<'E'\nlocal://a don't\nE\ncat local://a":            "cat <<'E'\n/p'\"$ don't\nE\ncat '/p'\\''\"$'",
		"cat <<-E; cat local://a\n\t local://a x\n\tE\nlocal://a": "cat <<-E; cat '/p'\\''\"$'\n\t /p'\"\\$ x\n\tE\n'/p'\\''\"$'",
		"echo $((1<<2)); cat local://a":                           "echo $((1<<2)); cat '/p'\\''\"$'",
	} {
		if got := expand(t, command, fixed("local", `/p'"$`)); got != want {
			t.Errorf("%s\nis   %s\nwant %s", command, got, want)
		}
	}
}

// The shell itself says what a command then means.
func TestR038_TheShellSeesThePath(t *testing.T) {
	const path = "/it's a \"$HOME\" `id` \\ & more"
	for command, want := range map[string]string{
		`printf %s local://a`:                        path,
		`printf %s 'local://a'`:                      path,
		`printf %s "local://a"`:                      path,
		`printf %s "<local://a >"`:                   "<" + path + " >",
		`printf %s '<local://a >'`:                   "<" + path + " >",
		`printf %s $'<local://a >'`:                  "<" + path + " >",
		`printf %s x"y"'z'local://a`:                 "xyz" + path,
		`printf %s "$(printf %s local://a)"`:         path,
		`printf %s "$(printf %s "<local://a >")"`:    "<" + path + " >",
		`bash -c 'printf %s "local://a"'`:            path,
		`bash -c "printf %s 'local://a'"`:            path,
		"cat <<E\nlocal://a\nE\n":                    path + "\n",
		"cat <<'E'\nlocal://a\nE\n":                  path + "\n",
		"cat <<A - 3<<'B' <&3\nx\nA\nlocal://a\nB\n": path + "\n",
		"# it's\nprintf %s local://a;: 'b'":          path,
		"printf %s '#'local://a # '":                 "#" + path,
		`(( 1<<2 )); printf %s local://a`:            path,
		`printf %s local://a|cat>/dev/stdout`:        path,
	} {
		out, err := exec.Command("bash", "-c", expand(t, command, fixed("local", path))).CombinedOutput()
		if err != nil || string(out) != want {
			t.Errorf("%s prints %q, %v, want %q", command, out, err, want)
		}
	}
}

func TestHostileTextsCostLittle(t *testing.T) {
	for name, unit := range map[string]string{
		"no scheme": "xlocal:/", "other schemes": "skill:/", "nearly": "local:/ ", "of another": "a.skill://", "openings": "(`\"$(", "documents": "local:/\n<<A ", "bare": "skill:// ",
	} {
		for _, length := range []int{512<<10 - 100, 16 << 20} {
			text := strings.Repeat(unit, length/len(unit)) + " skill://\""
			begin := time.Now()
			got, err := urls.Expand(urls.Call{Command: text, Cwd: text}, echoes(nil)...)
			took := time.Since(begin)
			if err != nil || got.Command != text || got.Cwd != text {
				t.Errorf("%s: something was changed, %v", name, err)
			}
			t.Logf("%s, %d bytes: %v", name, length, took)
			if took > 3*time.Second { // some tenths of it, on a busy machine
				t.Errorf("%s of %d bytes took %v", name, length, took)
			}
		}
	}
}

func TestManyTokensInOneLineOfADocumentCostLittle(t *testing.T) {
	text := "cat <<E ://\n" + strings.Repeat("skill:/ ", 64<<10-10)
	least := time.Hour
	for range 5 {
		begin := time.Now()
		if got, err := urls.Expand(urls.Call{Command: text}, echoes(nil)...); err != nil || got.Command != text {
			t.Fatalf("it was changed, or %v", err)
		}
		least = min(least, time.Since(begin))
	}
	if least > 150*time.Millisecond {
		t.Errorf("%d bytes took %v", len(text), least)
	}
}

// fixed is a router with one path.
func fixed(scheme, path string) urls.Router { return one{scheme, path, nil} }

type one struct {
	scheme, path string
	err          error
}

func (o one) Scheme() string { return o.scheme }

func (o one) Resolve(urls.URL, urls.Use) (urls.Resource, error) {
	return urls.Resource{Path: o.path}, o.err
}

func TestR039_TheSevenSchemes(t *testing.T) {
	for _, scheme := range []string{"skill", "agent", "artifact", "plan", "memory", "rule", "local"} {
		if got, want := expand(t, "cat "+scheme+"://x", echoes(nil)...), "cat '/"+scheme+"/x'"; got != want {
			t.Errorf("%s:// gives %s, want %s", scheme, got, want)
		}
		upper := strings.ToUpper(scheme) + "://x"
		if got := expand(t, "cat "+upper, echoes(nil)...); got != "cat "+upper {
			t.Errorf("%s was found: %s", upper, got)
		}
		if found, err := urls.Resolve(upper, urls.InCommand, echoes(nil)...); err != nil || found.Path != "/"+scheme+"/x" {
			t.Errorf("%s is resolved to %q, %v", upper, found.Path, err)
		}
	}
	for _, other := range []string{"mcp://x", "pi://x"} {
		if got := expand(t, "cat "+other, echoes(nil)...); got != "cat "+other {
			t.Errorf("%s was found: %s", other, got)
		}
	}
}

func TestR040_Tokens(t *testing.T) {
	for command, want := range map[string]string{
		"cat skill://a/b.md":      "cat '/skill/a/b.md'",
		"cat 'skill://a' x":       "cat '/skill/a' x",
		`cat "skill://a" x`:       "cat '/skill/a' x",
		`cat "skill://a b"`:       `cat "/skill/a b"`,
		"a=$(cat skill://a)":      "a=$(cat '/skill/a')",
		"cat `ls skill://a`":      "cat `ls '/skill/a'`",
		`cat skill://a\ b`:        `cat '/skill/a'\ b`,
		"x --f=skill://a:1,2?q#f": "x --f='/skill/a:1,2?q#f'",
		"cat skill://":            "cat skill://",
		"cat skill://)":           "cat skill://)",
		"cat local:/x":            "cat '/local/x'",
		"cat local://x":           "cat '/local/x'",
		"ls local://":             "ls '/local/'",
		"ls local://;pwd":         "ls '/local/';pwd",
		"ls 'local:/x'":           "ls '/local/x'",
		"cat ./local:/x":          "cat ./local:/x",
		"cat a.local:/x":          "cat a.local:/x",
		`cat \local:/x`:           `cat \local:/x`,
		"cat xlocal:/x":           "cat xlocal:/x",
		"cat _local:/x":           "cat _local:/x",
		"cat -local:/x":           "cat -local:/x",
		"cat +local:/x":           "cat +'/local/x'",
		"cat local:x":             "cat local:x",
		"cc -Ilocal://x":          "cc -I'/local/x'",
		"skill://a skill://b":     "'/skill/a' '/skill/b'",
		"cat skill://a;rm b":      "cat '/skill/a';rm b",
		"cat skill://a|wc":        "cat '/skill/a'|wc",
		"cat skill://a>local://b": "cat '/skill/a'>'/local/b'",
		"cat 'skill://a;b'":       "cat '/skill/a;b'",
		"cat 'skill://a|b' ;c":    "cat '/skill/a|b' ;c",
		"cat 'skill://a\" x'":     "cat '/skill/a\" x'",
	} {
		if got := expand(t, command, echoes(nil)...); got != want {
			t.Errorf("%s gives %s, want %s", command, got, want)
		}
	}
	call, err := urls.Expand(urls.Call{Env: map[string]string{"A": `'local://a' "skill://b" 'plan://c"`}}, echoes(nil)...)
	if want := `/local/a /skill/b '/plan/c"`; err != nil || call.Env["A"] != want {
		t.Errorf("quotes in a variable give %s, %v, want %s", call.Env["A"], err, want)
	}
}

func TestR040_FromRightToLeftAndOnlyWhereThereIsOne(t *testing.T) {
	var asked []string
	expand(t, "cat skill://1 skill://2 skill://1 skill://3", echoes(&asked)...)
	if got := strings.Join(asked, " "); got != "3 1 2" {
		t.Errorf("asked for %s, want 3 1 2", got)
	}
	text := strings.Repeat("echo http:/ local: x ", 800_000)
	if calls := testing.AllocsPerRun(1, func() { expand(t, text) }); calls > 8 {
		t.Errorf("a text without a URL cost %v allocations", calls)
	}
}

func TestR041_OtherSchemesStay(t *testing.T) {
	for _, command := range []string{
		"curl http://example.org/", "git clone git+ssh://x/y", "cat myskill://x", "cat my_skill://x",
		"cat x.local://y/z", "cat file:///etc/passwd", "s3://skill", "cat mcp://local",
	} {
		if got := expand(t, command); got != command {
			t.Errorf("%s became %s", command, got)
		}
	}
	call := urls.Call{Command: "true", Cwd: "https://example.org/x", Env: map[string]string{"U": "http://a"}}
	got, err := urls.Expand(call)
	if err != nil || got.Cwd != call.Cwd || got.Env["U"] != "http://a" {
		t.Errorf("another scheme in env or cwd became %v, %v", got, err)
	}
}

func TestR042_EveryFailureCarriesTheURL(t *testing.T) {
	cause := errors.New("because")
	for _, c := range []struct {
		url     string
		routers []urls.Router
		why     urls.Reason
		text    string
	}{
		{"ftp://x", nil, urls.Unsupported, "ftp://x has the unknown scheme ftp://; supported are skill://, agent://, artifact://, plan://, memory://, rule://, local://"},
		{"plan://x", nil, urls.NoRouter, "plan://x cannot be used: this session has no plan:// resources"},
		{"local://x", nil, urls.NotConfigured, "local://x cannot be used: local:// is not set up for this session"},
		{"rule://x", []urls.Router{one{"rule", "", cause}}, urls.Failed, "rule://x could not be resolved: because"},
		{"agent://x", []urls.Router{fixed("agent", "")}, urls.NoPath, "agent://x is no file, so a command cannot use it"},
	} {
		_, err := urls.Resolve(c.url, urls.InCommand, c.routers...)
		checkError(t, err, c.url, c.why, c.text)
		if c.why == urls.Unsupported {
			continue
		}
		for _, call := range []urls.Call{
			{Command: "cat " + c.url},
			{Command: "pwd", Env: map[string]string{"A": c.url}},
			{Command: "pwd", Cwd: c.url},
		} {
			_, err := urls.Expand(call, c.routers...)
			checkError(t, err, c.url, c.why, c.text)
		}
		if c.why == urls.Failed && !errors.Is(err, cause) {
			t.Errorf("%v has lost its cause", err)
		}
	}
	_, err := urls.Expand(urls.Call{Command: strings.Repeat("skill://a ", 1001)}, echoes(nil)...)
	checkError(t, err, "skill://a", urls.TooMany, "more than 1000 internal URLs in one call, up to skill://a")
}

func checkError(t *testing.T, err error, url string, why urls.Reason, text string) {
	t.Helper()
	var refused *urls.Error
	if !errors.As(err, &refused) || refused.URL != url || refused.Why != why || err.Error() != text {
		t.Errorf("the error is %#v: %v\nwant %s of %s: %s", err, err, why, url, text)
	}
}

// maker counts what it makes.
type maker struct {
	echo
	made *int
}

func (m maker) Make(urls.Resource) error { *m.made++; return nil }

func TestNothingIsMadeBeforeAllIsResolved(t *testing.T) {
	made := 0
	m := maker{echo{"local", nil}, &made}
	if _, err := urls.Expand(urls.Call{Command: "cat local://a", Cwd: "plan://x"}, m); err == nil || made != 0 {
		t.Errorf("%d were made, error %v", made, err)
	}
	if _, err := urls.Expand(urls.Call{Command: "cat local://a local://a", Cwd: "local://b"}, m); err != nil || made != 1 {
		t.Errorf("%d were made, want 1, error %v", made, err)
	}
}

func TestR046_AnUnknownSchemeNamesTheSupported(t *testing.T) {
	_, err := urls.Resolve("GOPHER://x", urls.ToRead, echoes(nil)...)
	checkError(t, err, "GOPHER://x", urls.Unsupported,
		"GOPHER://x has the unknown scheme gopher://; supported are skill://, agent://, artifact://, plan://, memory://, rule://, local://")
}
