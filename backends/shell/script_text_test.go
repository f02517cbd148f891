package shell

import (
	"strings"
	"testing"

	"troupe/backends"
	"troupe/internal/shelltext"
)

func TestTextOfACommand(t *testing.T) {
	for _, c := range []struct {
		shell   string
		command backends.Command
		want    string
	}{
		{"bash", backends.Command{Text: "make"}, "make"},
		{"bash", backends.Command{Text: "make", Dir: "/a'b"}, `builtin cd -- '/a'\''b' || return; make`},
		{"dash", backends.Command{Text: "make", Dir: "/tmp", Env: []string{"A=x y", "1B=no", "C", "D="}}, "command cd -- '/tmp' || return; export A='x y'; export D=''; make"},
		{"zsh", backends.Command{Argv: []string{"echo", "a b", "", "$x"}}, "'echo' 'a b' '' '$x'"},
		{"fish", backends.Command{Text: "make", Dir: "/tmp", Env: []string{`A=x'\y`}}, `builtin cd -- '/tmp' ; or return; set -gx A 'x\'\\y'; make`},
		{"pwsh", backends.Command{Text: "Get-Item x", Dir: "/a'b", Env: []string{"A=$x"}}, "Set-Location -ErrorAction Stop -LiteralPath '/a''b'; $env:A = '$x'; Get-Item x"},
		{"pwsh", backends.Command{Argv: []string{"git", "it's"}}, "& 'git' 'it''s'"},
	} {
		d, err := driverOf(c.shell)
		if err != nil {
			t.Fatal(err)
		}
		if got := d.finish(d.scriptOf(c.command, ""), shelltext.Findings{}, ""); got != c.want {
			t.Errorf("%s: %q, want %q", c.shell, got, c.want)
		}
	}
}

// PowerShell is not on every machine: its driver and flags are held to their text.
func TestPowerShell(t *testing.T) {
	d, err := driverOf("/opt/microsoft/powershell/7/pwsh")
	if err != nil {
		t.Fatal(err)
	}
	if words := strings.Join(d.argv, " "); words != "pwsh -NoLogo -NoProfile -NonInteractive -File @DIR@/driver.ps1" {
		t.Errorf("it is started with %q", words)
	}
	text := d.files()["driver.ps1"]
	for _, part := range []string{"ready 0", "/ctl", "/st", "/out", "/err", ".in", "$global:LASTEXITCODE", "[int](-not $?)", "exit 125", "__troupe_n run", "'sync 0 '"} {
		if !strings.Contains(text, part) {
			t.Errorf("there is no %q in its driver", part)
		}
	}
	if got := d.enter("/a"); got != "try { Set-Location -ErrorAction Stop -LiteralPath '/a'; return } catch {}\nSet-Location -ErrorAction Stop -LiteralPath '/'\n" {
		t.Errorf("it enters by %q", got)
	}
}

// On a terminal PowerShell writes there, and a fence before each report.
func TestPowerShellOnATerminal(t *testing.T) {
	d, err := driverOf("pwsh")
	if err != nil {
		t.Fatal(err)
	}
	on := d.onTerminal()
	if words := strings.Join(on.argv, " "); words != "pwsh -NoLogo -NoProfile -File @DIR@/driver.ps1" {
		t.Errorf("it is started with %q", words)
	}
	for _, part := range []string{"/out", "/err"} {
		if strings.Contains(on.script, part) {
			t.Errorf("%q is in its driver", part)
		}
	}
	for _, part := range []string{"    . $global:__troupe_t\n", "`e]133;D;$global:__troupe_s;$global:__troupe_n`a\")\n  __troupe_say \"$global:__troupe_n $global:__troupe_s ", `[Console]::Error.WriteLine("$_")`} {
		if !strings.Contains(on.script, part) {
			t.Errorf("there is no %q in its driver", part)
		}
	}
	if !strings.Contains(strings.Join(d.argv, " "), "-NonInteractive") {
		t.Error("the driver on pipes was changed")
	}
}

func TestIDsAreULIDsInOrder(t *testing.T) {
	last := newULID()
	for range 100 {
		id := newULID()
		if len(id) != 26 || id[0] > '7' || strings.Trim(string(id), "0123456789ABCDEFGHJKMNPQRSTVWXYZ") != "" || id[:10] < last[:10] {
			t.Fatalf("%s after %s", id, last)
		}
		last = id
	}
}
