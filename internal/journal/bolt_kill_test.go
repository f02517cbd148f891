package journal_test

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"

	"troupe/internal/journal"
	"troupe/messages"
)

// killMe tells the test binary to be the process that is killed.
const killMe = "TROUPE_TEST_JOURNAL"

func TestMain(m *testing.M) {
	if path, child := os.LookupEnv(killMe); child {
		appendUntilKilled(path)
	}
	os.Exit(m.Run())
}

// appendUntilKilled writes job after job and says each number that was
// acknowledged.
func appendUntilKilled(path string) {
	path, nosync := strings.CutPrefix(path, "nosync:")
	step, times, path, compacts := parseCompact(path)
	o, outputs := journal.BoltOptions{NoSync: nosync}, func(int, messages.JobID) []journal.Output { return nil }
	if compacts {
		o, outputs = compacting(step, times)
		o.NoSync = nosync
	}
	o.Retention = journal.Retention{Jobs: 20, Facts: 5000}
	b, err := journal.OpenBolt(path, o)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	last, err := b.Last()
	for next := last + 1; err == nil; next += 3 {
		id := jobID(int(next))
		err = b.Write(journal.Batch{
			Facts:    life(id, next),
			Keys:     []journal.Key{{Job: id, Key: string(id)}},
			Channels: []journal.Channel{{ID: "c", Acked: next}},
			Outputs:  outputs(int(next/3), id),
		})
		if err == nil {
			fmt.Println(next + 2)
		}
	}
	fmt.Println(err)
	os.Exit(1)
}

// F46, F14: killed at any instant, the journal has all that it acknowledged, each
// once, and at most what was under way beside it.
func TestFaultJournalIsKilled(t *testing.T) {
	for _, mode := range []string{"", "nosync:"} {
		t.Run("mode "+mode, func(t *testing.T) {
			path := place(t)
			known := messages.Seq(0)
			for round := range 20 {
				acked := killed(t, mode+path, rand.IntN(60))
				b, err := journal.OpenBolt(path, journal.BoltOptions{})
				must(t, err)
				last, err := b.Last()
				must(t, err)
				if acked == 0 {
					acked = known
				}
				if last != acked && last != acked+3 {
					t.Fatalf("round %d: %d was acknowledged, %d is recorded", round, acked, last)
				}
				judge(t, b, last)
				must(t, b.Close())
				known = last
			}
			t.Logf("killed 20 times, %d facts", known)
		})
	}
}

// killed runs the process until it has said so much and gives the last number
// that it said, 0 if none.
func killed(t *testing.T, where string, lines int) messages.Seq {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), killMe+"="+where)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	var acked messages.Seq
	scan := bufio.NewScanner(out)
	for n := 0; scan.Scan(); n++ {
		if _, err := fmt.Sscan(scan.Text(), &acked); err != nil {
			t.Fatalf("the process says %q", scan.Text())
		}
		if n == lines {
			must(t, cmd.Process.Kill()) // what it said meanwhile is read too
		}
	}
	_ = cmd.Wait() // it was killed
	return acked
}

// judge checks that all facts are there once, and that the projection is theirs.
func judge(t *testing.T, b *journal.Bolt, last messages.Seq) {
	t.Helper()
	first := first(t, b)
	facts, err := b.Read(0, 1e6)
	must(t, err)
	if last == 0 {
		return
	}
	if len(facts) == 0 || facts[0].Seq != first || facts[len(facts)-1].Seq != last || len(facts) != int(last-first)+1 {
		t.Fatalf("%d facts are there from %d to %d", len(facts), first, last)
	}
	for i, f := range facts {
		begin := (f.Seq-1)/3*3 + 1
		want := life(jobID(int(begin)), begin)[f.Seq-begin].Fact
		got := f.Fact.(messages.CommandFact).Record().ID
		if f.Seq != first+messages.Seq(i) || got != jobID(int(begin)) || fmt.Sprintf("%T", f.Fact) != fmt.Sprintf("%T", want) {
			t.Fatalf("fact %d is a %T of %s", f.Seq, f.Fact, got)
		}
	}
	live, err := b.Live()
	must(t, err)
	over, err := b.Finished(0, 99)
	must(t, err)
	channels, err := b.Channels()
	must(t, err)
	e := byKey(t, b, "", string(jobID(int(last-2))))
	if len(live) > 0 || len(over) != min(20, int(last/3)) || over[0].Job.Seq != last || e.Job.Seq != last || channels[0].Acked != last-2 {
		t.Fatalf("of %d facts: %d jobs live, %d are over, %+v", last, len(live), len(over), channels)
	}
}
