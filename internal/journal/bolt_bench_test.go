package journal_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"troupe/internal/journal"
	"troupe/messages"
)

var modes = []struct {
	name   string
	nosync bool
}{{"sync", false}, {"nosync", true}}

// One caller after the other: a recorder of a node where little happens.
func BenchmarkBoltAlone(b *testing.B) {
	for _, m := range modes {
		b.Run(m.name, func(b *testing.B) {
			j := bolt(b, place(b), journal.BoltOptions{NoSync: m.nosync})
			next := messages.Seq(1)
			for b.Loop() {
				must(b, j.Append(number(next, start(jobID(int(next))))))
				next++
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "appends/s")
		})
	}
}

// Many callers at once, each with facts of its own kind: what a channel
// acknowledges needs no order among them.
func BenchmarkBoltTogether(b *testing.B) {
	for _, m := range modes {
		for _, callers := range []int{16, 128} {
			b.Run(fmt.Sprintf("%s/%d", m.name, callers), func(b *testing.B) {
				j := bolt(b, place(b), journal.BoltOptions{NoSync: m.nosync})
				var all sync.WaitGroup
				var turn atomic.Int64
				b.ResetTimer()
				for c := range callers {
					id := messages.ChannelID(fmt.Sprint("c", c))
					all.Go(func() {
						for n := turn.Add(1); n <= int64(b.N); n = turn.Add(1) {
							must(b, j.Write(journal.Batch{Channels: []journal.Channel{{ID: id, Window: int(n)}}}))
						}
					})
				}
				all.Wait()
				s := j.Stats()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
				b.ReportMetric(float64(s.Writes)/float64(s.Commits), "writes/commit")
			})
		}
	}
}

// A recorder that finds so many facts in its mailbox, as the node's does.
func BenchmarkBoltRecorder(b *testing.B) {
	for _, m := range modes {
		for _, waiting := range []int{16, 128, 1024} {
			b.Run(fmt.Sprintf("%s/%d", m.name, waiting), func(b *testing.B) {
				j := bolt(b, place(b), journal.BoltOptions{NoSync: m.nosync})
				next := messages.Seq(1)
				for b.Loop() {
					var facts []messages.FactRecorded
					for range waiting / 3 {
						facts = append(facts, life(jobID(int(next)), next)...)
						next += 3
					}
					must(b, j.Append(facts))
				}
				b.ReportMetric(float64(j.Stats().Facts)/b.Elapsed().Seconds(), "facts/s")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// What a fact costs the journal of a node in its own process.
func BenchmarkMemory(b *testing.B) {
	for name, all := range map[string][]messages.FactRecorded{"scope": number(1, messages.ScopeOpened{}), "job": life("j1", 1)} {
		b.Run(name, func(b *testing.B) {
			j := journal.NewMemory(0)
			one := make([]messages.FactRecorded, 1)
			for next := messages.Seq(1); b.Loop(); next++ {
				one[0] = messages.FactRecorded{Seq: next, Fact: all[next%messages.Seq(len(all))].Fact}
				must(b, j.Append(one))
			}
		})
	}
}

func BenchmarkFact(b *testing.B) {
	fact := end("j1")
	form, err := journal.EncodeFact(fact)
	must(b, err)
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = journal.EncodeFact(fact)
		}
		b.ReportMetric(float64(len(form)), "bytes")
	})
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = journal.DecodeFact(form)
		}
	})
}
