package lifecycle

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"troupe/messages"
)

func grew(size int64) messages.OutputGrew { return messages.OutputGrew{Size: size} }

// Each step of a terminal and what it asks for.
func TestTerminalTable(t *testing.T) {
	type step struct {
		event any
		want  []TerminalEffect
	}
	take, leave := messages.ClaimTerminal{By: "a"}, messages.ReleaseTerminal{By: "a", Through: 30}
	for name, steps := range map[string][]step{
		"silent": {
			{Opened{}, []TerminalEffect{Listen{From: 0}}},
		},
		"says much and asks nothing": {
			{Opened{}, []TerminalEffect{Listen{}}},
			{grew(10), []TerminalEffect{ScanQueries{Gen: 1}}},
			{grew(20), nil},
			{QueriesScanned{Gen: 1, Through: 10, Bytes: 20}, []TerminalEffect{DelayScan{scanDelay}}},
			{grew(30), nil},
			{ScanDue{}, []TerminalEffect{ScanQueries{Gen: 2, After: 10}}},
			{QueriesScanned{Gen: 2, Through: 30, Bytes: 30}, []TerminalEffect{DelayScan{scanDelay}}},
			{ScanDue{}, []TerminalEffect{Listen{From: 30}}},
		},
		"floods": {
			{Opened{}, []TerminalEffect{Listen{}}},
			{grew(flood + 1), []TerminalEffect{ScanQueries{Gen: 1}}},
			{QueriesScanned{Gen: 1, Through: flood + 1, Bytes: flood + 1}, []TerminalEffect{DelayScan{floodDelay}}},
			{grew(2*flood + 1), nil},
			{ScanDue{}, []TerminalEffect{ScanQueries{Gen: 2, After: flood + 1}}},
			{QueriesScanned{Gen: 2, Data: []byte("x"), Through: 2*flood + 1, Bytes: 2*flood + 1}, []TerminalEffect{Answer{Data: []byte("x"), Through: 2*flood + 1}, DelayScan{scanDelay}}},
		},
		"asks": {
			{Opened{}, []TerminalEffect{Listen{}}},
			{grew(10), []TerminalEffect{ScanQueries{Gen: 1}}},
			{QueriesScanned{Gen: 1, Data: []byte("x"), Through: 10, Bytes: 10}, []TerminalEffect{Answer{Data: []byte("x"), Through: 10}, DelayScan{scanDelay}}},
			{QueriesScanned{Gen: 1, Data: []byte("x"), Through: 10, Bytes: 10}, nil},
			{ScanDue{}, []TerminalEffect{Listen{From: 10}}},
		},
		"cannot be looked at": {
			{Opened{}, []TerminalEffect{Listen{}}},
			{grew(10), []TerminalEffect{ScanQueries{Gen: 1}}},
			{QueriesScanned{Gen: 1}, []TerminalEffect{DelayScan{scanDelay}}},
			{ScanDue{}, []TerminalEffect{Listen{From: 10}}},
		},
		"taken before the begin": {
			{take, nil},
			{grew(10), nil},
			{Opened{}, nil},
			{leave, []TerminalEffect{Answer{Through: 30}, Listen{From: 30}}},
		},
		"taken and left before the begin": {
			{take, nil},
			{leave, nil},
			{Opened{}, []TerminalEffect{Listen{From: 30}}},
		},
		"taken while it is looked at": {
			{Opened{}, []TerminalEffect{Listen{}}},
			{grew(10), []TerminalEffect{ScanQueries{Gen: 1}}},
			{take, nil},
			{QueriesScanned{Gen: 1, Data: []byte("x"), Through: 10, Bytes: 10}, nil},
			{grew(40), nil},
			{messages.ReleaseTerminal{By: "b", Through: 40}, nil},
			{leave, []TerminalEffect{Answer{Through: 30}, ScanQueries{Gen: 3, After: 30}}},
			{QueriesScanned{Gen: 1, Data: []byte("x"), Through: 10, Bytes: 10}, nil},
		},
		"taken while it rests": {
			{Opened{}, []TerminalEffect{Listen{}}},
			{grew(10), []TerminalEffect{ScanQueries{Gen: 1}}},
			{QueriesScanned{Gen: 1, Through: 10, Bytes: 10}, []TerminalEffect{DelayScan{scanDelay}}},
			{take, nil},
			{ScanDue{}, nil},
			{leave, []TerminalEffect{Answer{Through: 30}, Listen{From: 30}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var m Terminal
			for i, s := range steps {
				var got []TerminalEffect
				m, got = m.Step(s.event)
				require.Equal(t, s.want, got, "step %d, %T", i+1, s.event)
			}
		})
	}
}

// Whatever happens, no question is answered twice: not by troupe, not by a client, not
// by one after the other. In the end, where nobody holds the terminal, none is left.
func TestTerminalAnswersNothingTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m Terminal
		var size int64
		var todo []TerminalEffect
		open, looks, rests, holder, shown := false, []ScanQueries(nil), 0, "", int64(0)
		answered := map[int64]string{} // each byte is a question
		give := func(who string, from, to int64) {
			for at := from; at < to; at++ {
				if other, twice := answered[at]; twice {
					t.Fatalf("byte %d is answered by %s and by %s", at, other, who)
				}
				answered[at] = who
			}
		}
		last := int64(0)
		step := func(event any) {
			m, todo = m.Step(event)
			for _, e := range todo {
				switch e := e.(type) {
				case ScanQueries:
					looks = append(looks, e)
				case DelayScan:
					rests++
				case Answer:
					if len(e.Data) > 0 {
						give("troupe", last, e.Through)
					}
					last = max(last, e.Through)
				}
			}
		}
		look := func(i int) {
			l := looks[i]
			looks = append(looks[:i], looks[i+1:]...)
			through := rapid.Int64Range(l.After+1, size).Draw(t, "through")
			last = l.After
			step(QueriesScanned{Gen: l.Gen, Data: []byte("x"), Through: through, Bytes: size})
		}
		leave := func() {
			through := rapid.Int64Range(shown, max(size, shown)).Draw(t, "shown")
			give(holder, shown, through)
			step(messages.ReleaseTerminal{By: holder, Through: through})
			holder = ""
		}
		for n := range 60 {
			switch rapid.IntRange(0, 5).Draw(t, fmt.Sprint(n)) {
			case 0:
				size += rapid.Int64Range(1, 5).Draw(t, "more")
				step(grew(size))
			case 1:
				if !open {
					open = true
					step(Opened{})
				}
			case 2:
				if len(looks) > 0 {
					look(rapid.IntRange(0, len(looks)-1).Draw(t, "look"))
				}
			case 3:
				if rests > 0 {
					rests--
					step(ScanDue{})
				}
			case 4:
				if holder == "" {
					holder = "client"
					step(messages.ClaimTerminal{By: holder})
					shown = m.Answered
				}
			case 5:
				if holder != "" {
					leave()
				}
			}
		}
		if holder != "" {
			leave()
		}
		step(Opened{})
		for len(looks)+rests > 0 {
			if len(looks) > 0 {
				look(0)
				continue
			}
			rests--
			step(ScanDue{})
		}
		for at := range size {
			if answered[at] == "" {
				t.Fatalf("byte %d of %d has no answer", at, size)
			}
		}
	})
}
