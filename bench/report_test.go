package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var (
	fewer = line{"", "p50 ms", "p50", own, byRatio, atMost, 1.05, 0.98}
	more  = line{librarySuffix, "jobs/s", "rate", library, byRatio, atLeast, 1, 1.1}
	alone = line{"", "threads", "threads", own, itself, atMost, 64, 12}
	bared = line{"", "stop s", "stop", bare, shown, atMost, 0, 0}
	plus  = line{"", "us", "p50", held, added, atMost, 150, 80}
)

func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		line      line
		ours, raw []float64
		want      string
	}{
		{fewer, []float64{1.05}, []float64{1}, ok},
		{fewer, []float64{1.06}, []float64{1}, short},
		{fewer, []float64{9, 1, 1}, []float64{1, 1, 1}, ok},
		{more, []float64{1000}, []float64{1000}, ok},
		{more, []float64{999}, []float64{1000}, short},
		{alone, []float64{64}, []float64{1}, ok},
		{alone, []float64{65}, nil, short},
		{alone, nil, []float64{1}, short},
		{fewer, []float64{1}, nil, short},
		{plus, []float64{1150, 1200, 1000}, []float64{1000, 1000, 1000}, ok},
		{plus, []float64{1151}, []float64{1000}, short},
		{plus, []float64{100}, nil, short},
		{bared, []float64{3}, []float64{2}, none},
	} {
		if got := newRow("x", c.line, c.ours, c.raw).Verdict; got != c.want {
			t.Errorf("%s of %v and %v: got %s, want %s", c.line.metric, c.ours, c.raw, got, c.want)
		}
	}
}

func TestTable(t *testing.T) {
	var b strings.Builder
	printHead(&b)
	printRow(&b, newRow("oneshot", fewer, []float64{1.5, 1.6, 1.4}, []float64{1.5, 1.5, 1.5}))
	printRow(&b, newRow("throughput", more, []float64{1234.5}, []float64{1000}))
	printRow(&b, newRow("jobs-10000", alone, []float64{9}, []float64{5}))
	printRow(&b, newRow("spill", fewer, nil, nil))
	printRow(&b, newRow("crowd-bare", bared, []float64{3}, []float64{2}))
	printRow(&b, newRow("keeper", plus, []float64{1103.4}, []float64{1000}))
	const want = `
NAME              metric              ours       raw   ratio    must     aim  verdict
oneshot           p50 ms             1.500     1.500   1.000   ≤1.05   ≤0.98  ok
throughput-lib    jobs/s              1234      1000   1.234      ≥1    ≥1.1  ok
jobs-10000        threads                9         5       -     ≤64     ≤12  ok
spill             p50 ms                 -         -       -   ≤1.05   ≤0.98  short
crowd-bare        stop s                 3         2   1.500       -       -  -
keeper            us                  1103      1000    +103    ≤150     ≤80  ok
`
	if b.String() != want[1:] {
		t.Errorf("got:\n%s\nwant:%s", b.String(), want)
	}
}

func TestFiguresHaveFourDigits(t *testing.T) {
	for f, want := range map[float64]string{
		0: "0", 12: "12", 0.0708: "0.071", 1.23456: "1.235", 12.3456: "12.35", 123.456: "123.5", 12345.6: "12346",
	} {
		if got := figure(&f); got != want {
			t.Errorf("%v: got %s, want %s", f, got, want)
		}
	}
}

// The file is read by other programs: names and kinds of its fields stay.
func TestReportFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bench.json")
	r := report{V: 1, Started: time.Unix(0, 0).UTC(), Took: 1.5, Rounds: 2, Machine: machine{"linux", "amd64", "6.1", 2, "go1.26"}, Rows: []row{
		newRow("oneshot", fewer, []float64{1, 3}, []float64{1, 2}),
		newRow("jobs-10000", alone, nil, nil),
	}}
	if err := r.write(file); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var got any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	compact, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"machine":{"arch":"amd64","cpus":2,"go":"go1.26","kernel":"6.1","os":"linux"},"rounds":2,"rows":[` +
		`{"added":null,"aim":0.98,"metric":"p50 ms","must":1.05,"name":"oneshot","ours":2,"ours_rounds":[1,3],"ratio":1.25,"raw":1.5,"raw_rounds":[1,2],"sense":"≤","verdict":"short"},` +
		`{"added":null,"aim":12,"metric":"threads","must":64,"name":"jobs-10000","ours":null,"ours_rounds":null,"ratio":null,"raw":null,"raw_rounds":null,"sense":"≤","verdict":"short"}` +
		`],"started":"1970-01-01T00:00:00Z","took_s":1.5,"v":1}`
	if string(compact) != want {
		t.Errorf("got  %s\nwant %s", compact, want)
	}
}

func TestChoose(t *testing.T) {
	all, err := choose("")
	if err != nil || len(all) != len(scenarios) {
		t.Errorf("no name: got %d scenarios, %v", len(all), err)
	}
	two, err := choose("spill, oneshot")
	if err != nil || len(two) != 2 || two[0].name != "spill" || two[1].name != "oneshot" {
		t.Errorf("two names: got %v, %v", two, err)
	}
	if _, err := choose("oneshot,none"); err == nil || !strings.Contains(err.Error(), "jobs-10000") {
		t.Errorf("an unknown name: got %v, want the names that there are", err)
	}
}

// Every line takes its figure from a side that is run, and is compared with raw
// where its target is.
func TestScenariosAreWhole(t *testing.T) {
	for _, s := range scenarios {
		sides := map[side]bool{}
		for _, who := range s.sides {
			sides[who] = true
		}
		if sides[raw] && s.sides[len(s.sides)-1] != raw {
			t.Errorf("%s: raw has the last turn, not %v", s.name, s.sides)
		}
		for _, l := range s.lines {
			if l.what != itself && l.what != shown && !sides[raw] {
				t.Errorf("%s %s: there is no raw to compare with", s.name, l.metric)
			}
			if !sides[l.side] {
				t.Errorf("%s %s: its side %s is not run", s.name, l.metric, l.side)
			}
			if !l.better.meets(l.aim, l.must) {
				t.Errorf("%s %s: the aim %v is worse than the must %v", s.name, l.metric, l.aim, l.must)
			}
		}
	}
}
