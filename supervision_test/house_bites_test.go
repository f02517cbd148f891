package supervision_test

import (
	"path"
	"slices"
	"strings"
	"testing"
)

// houseBite is a file that one rule must refuse, and no other.
type houseBite struct{ rule, path, body string }

// houseBites are small violations. The body follows the package clause.
var houseBites = []houseBite{
	{"imports", "nowhere/x.go", ""},
	{"imports", "nowhere/x_test.go", ""},
	{"imports", "messages/x.go", `import "troupe/spill"`},
	{"imports", "messages/x.go", `import "github.com/rs/zerolog"`},
	{"imports", "messages/x.go", `import "troupe"`},
	{"imports", "actors/lifecycle/x.go", `import "` + actorLib + `"`},
	{"imports", "actors/x.go", `import "troupe/backends/engine"`},
	{"imports", "actors/x.go", `import "` + protoactor + `/router"`},
	{"imports", "actors/x.go", `import "troupe/internal/journal"`},
	{"imports", "backends/x.go", `import "troupe/actors"`},
	{"imports", "backends/engine/x.go", `import "troupe/backends/pipe"`},
	{"imports", "backends/engine/x.go", `import "github.com/charmbracelet/x/ansi"`},
	{"imports", "spill/x.go", `import "troupe/messages"`},
	{"imports", "spill/x.go", `import "golang.org/x/system"`},
	{"imports", "x.go", `import "troupe/cmd/troupe"`},
	{"imports", "x.go", `import "troupe/internal/gateway/http"`},
	{"imports", "x.go", `import "github.com/spf13/cobra"`},
	{"imports", "internal/gateway/http/x.go", `import "troupe"`},
	{"imports", "internal/gateway/http/x.go", `import "troupe/actors"`},
	{"imports", "internal/api/x.go", `import "troupe/internal/gateway/http"`},
	{"imports", "client/x.go", `import "troupe/internal/gateway/http"`},
	{"imports", "internal/test/need/x.go", `import "troupe/messages"`},
	{"imports", "actors/x_linux.go", "//go:build neverbuilt\nimport \"troupe/faults\""},
	{"goroutines", "actors/x.go", "func f() { go f() }"},
	{"goroutines", "spill/x.go", "func f() { func() { go f() }() }"},
	{"goroutines", "x.go", "func f() { go f() }"},
	{"sleep", "backends/engine/x.go", "import \"time\"\nfunc f() { time.Sleep(1) }"},
	{"sleep", "cmd/troupe/x.go", "import clock \"time\"\nfunc f() { clock.Sleep(1) }"},
	{"sleep", "backends/pipe/x_test.go", "import \"time\"\nfunc f() { time.Sleep(1) }"},
	{"purity", "messages/x.go", "import \"time\"\nvar now = time.Now"},
	{"purity", "actors/lifecycle/x.go", "import \"time\"\nfunc f() { <-time.After(1) }"},
	{"purity", "actors/lifecycle/x.go", "import \"time\"\nfunc f(t time.Time) { time.Since(t) }"},
	{"purity", "messages/x.go", `import "os"`},
	{"purity", "messages/x.go", `import "net/netip"`},
	{"purity", "messages/x.go", `import "sync/atomic"`},
	{"purity", "actors/lifecycle/x.go", `import "context"`},
	{"purity", "actors/lifecycle/x.go", `import "math/rand/v2"`},
	{"actors", "actors/x.go", "import \"sync\"\ntype a struct { mu sync.Mutex }"},
	{"actors", "actors/x.go", "import \"context\"\ntype a struct { ctx context.Context }"},
	{"library", "actors/x.go", "import \"" + actorLib + "\"\nfunc f(ctx actor.Context) { ctx.Stash() }"},
	{"library", "actors/x.go", "import \"" + actorLib + "\"\nfunc f(ctx actor.Context) { ctx.SetReceiveTimeout(1) }"},
	{"library", "actors/x.go", "import \"" + actorLib + "\"\nvar m = actor.Bounded(3)"},
	{"library", "internal/node/x.go", "import \"" + actorLib + "\"\nvar o = actor.WithDefaultPrometheusProvider(2222)"},
	{"library", "actors/x.go", "import pa \"" + actorLib + "\"\nvar o = pa.EscalateDirective"},
	{"library", "actors/x.go", "import \"" + actorLib + "\"\nfunc f(c actor.Context) { c.StopFuture(nil) }"},
	{"library", "actors/strategies.go", "import \"" + actorLib + "\"\nvar s = actor.NewOneForOneStrategy(3, 1000, nil)"},
	{"props", "actors/x.go", "import \"" + actorLib + "\"\nvar s = actor.NewOneForOneStrategy(3, window, nil)"},
	{"props", "actors/x.go", "import \"" + actorLib + "\"\nvar _ actor.PID\ntype s struct{}\nfunc (s) HandleFailure() {}"},
	{"props", "actors/x.go", "import \"" + actorLib + "\"\nfunc f() { actor.PropsFromProducer(nil) }"},
	{"props", "actors/x.go", "import \"" + actorLib + "\"\nfunc f() { actor.PropsFromProducer(nil, actor.WithSupervisor(nil)) }"},
	{"props", "actors/x.go", "import \"" + actorLib + "\"\nvar p = actor.PropsFromProducer(nil)"},
	{"fd", "backends/engine/x.go", "import \"os\"\nfunc f(file *os.File) uintptr { return file.Fd() }"},
	{"size", "spill/x.go", "func f() {" + strings.Repeat("\n", maxFunc) + "}"},
	{"size", "spill/x.go", strings.Repeat("// line\n", maxFile)},
	{"init", "spill/x.go", "func init() {}"},
	{"init", "spill/x_test.go", "func init() {}"},
	{"globals", "spill/x.go", "var n int\nfunc f() { n++ }"},
	{"globals", "spill/x.go", "var m = map[string]int{}\nfunc f() { m[\"a\"] = 1 }"},
	{"globals", "spill/x.go", "var s struct{ a []int }\nfunc f() { s.a[0], _ = 1, 2 }"},
	{"globals", "spill/x.go", "import \"sync\"\nvar mu sync.Mutex"},
	{"globals", "spill/x.go", "import \"sync/atomic\"\nvar n = new(atomic.Int64)"},
	{"output", "backends/engine/x.go", "import \"fmt\"\nfunc f() { fmt.Println() }"},
	{"output", "x.go", "import \"os\"\nfunc f() { os.Exit(1) }"},
	{"messages", "messages/x.go", "type m struct { reply chan int }"},
	{"messages", "messages/x.go", "type m struct { done func() }"},
	{"promises", "spill/x.go", "// f does nothing. " + "TO" + "DO: something.\nfunc f() {}"},
	{"skips", "spill/x_test.go", "import \"testing\"\nfunc TestX(t *testing.T) { t.Skip(\"no time\") }"},
}

// houseFine is what the rules must let pass.
var houseFine = []houseBite{
	{"", "messages/x.go", "import (\"encoding/json\"; \"time\")\ntype m struct { after time.Duration; raw json.RawMessage }"},
	{"", "actors/x.go", "import \"" + actorLib + "\"\nfunc f() { actor.PropsFromProducer(nil, actor.WithSupervisor(nil), actor.WithReceiverMiddleware()) }"},
	{"", "actors/x.go", "import \"time\"\ntype s struct { Stash int }\nfunc f(v s) (int, time.Time) { return v.Stash, time.Now() }"},
	{"", "backends/engine/x.go", "import (\"golang.org/x/sys/unix\"; \"sync\")\nvar _ = unix.EIO\nfunc f(mu *sync.Mutex) { go mu.Lock() }"},
	{"", "spill/x.go", "var n = 1\nfunc f() int { n := 0; n++; return n }"},
	{"", "spill/x.go", "var _ = 1\nfunc f() { _ = 2 }"},
	{"", "spill/x.go", "type t struct{}\nfunc (t) init() {}"},
	{"", "supervision_test/x_test.go", "import (\"testing/synctest\"; \"time\")\nvar _ = synctest.Wait\nfunc f() { go f(); time.Sleep(1) }"},
	{"", "cmd/troupe/x.go", "import (\"fmt\"; \"os\"; \"troupe\"; \"github.com/spf13/cobra\")\nvar _ = troupe.Open\nvar _ cobra.Command\nfunc main() { fmt.Println(); os.Exit(1) }"},
	{"", "cmd/troupe/x.go", "import (\"troupe/backends/pipe\"; \"troupe/faults\")\nvar _ = pipe.New\nvar _ = faults.Parse"},
	{"", "spill/x.go", "func f() {" + strings.Repeat("\n", maxFunc-1) + "}"},
}

// TestHouseBites shows that each rule refuses what it is there for: a house
// test that lets everything pass proves nothing.
func TestHouseBites(t *testing.T) {
	bitten := map[string]bool{}
	for _, bite := range houseBites {
		if got := refusals(t, bite); len(got) != 1 || !got[bite.rule] {
			t.Errorf("%s:\n%s\nrefused by %v, want %s", bite.path, bite.body, got, bite.rule)
		}
		bitten[bite.rule] = true
	}
	for _, fine := range houseFine {
		if got := refusals(t, fine); len(got) > 0 {
			t.Errorf("%s:\n%s\nrefused by %v, want nothing", fine.path, fine.body, got)
		}
	}
	for _, rule := range houseRules {
		if !bitten[rule.name] {
			t.Errorf("nothing shows that the rule %s bites", rule.name)
		}
	}
}

// refusals names the rules that complain about a snippet.
func refusals(t *testing.T, s houseBite) map[string]bool {
	t.Helper()
	name := path.Base(path.Dir("troupe/" + s.path))
	f, err := houseParse(s.path, "package "+name+"\n"+s.body+"\n")
	if err != nil {
		t.Fatalf("%s: %v", s.path, err)
	}
	houseVars([]*houseFile{f})
	got := map[string]bool{}
	for _, rule := range houseRules {
		if len(rule.check(f)) > 0 {
			got[rule.name] = true
		}
	}
	return got
}

// TestHousePlanHasNoCircle: no arrow points up.
func TestHousePlanHasNoCircle(t *testing.T) {
	var visit func(folder string, above []string)
	visit = func(folder string, above []string) {
		if slices.Contains(above, folder) {
			t.Fatalf("a circle: %v, %s", above, folder)
		}
		for _, entry := range mayImport[folder] {
			if first, _, _ := strings.Cut(entry, "/"); entry == anything || strings.Contains(first, ".") {
				continue
			}
			if _, listed := mayImport[entry]; !listed {
				t.Errorf("%q may import %q, which is not in the plan", folder, entry)
			}
			visit(entry, append(slices.Clone(above), folder))
		}
	}
	for folder := range mayImport {
		visit(folder, nil)
	}
}
