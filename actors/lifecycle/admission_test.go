package lifecycle

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"troupe/messages"
)

// admit takes jobs in and lets them ask for their turns.
func admit(t *testing.T, a *Admission, scope messages.ScopePath, jobs ...messages.JobID) []messages.JobID {
	t.Helper()
	var granted []messages.JobID
	for _, j := range jobs {
		if err := a.Admit(j, scope); err != nil {
			t.Fatal(err)
		}
		granted = append(granted, a.Request(j)...)
	}
	return granted
}

func named(prefix string, n int) []messages.JobID {
	var out []messages.JobID
	for i := range n {
		out = append(out, messages.JobID(fmt.Sprintf("%s%d", prefix, i)))
	}
	return out
}

// A scope with a thousand jobs delays another's first by one start.
func TestAdmissionIsFair(t *testing.T) {
	a := NewAdmission(1, 2000)
	if got := admit(t, &a, "big", named("b", 1000)...); fmt.Sprint(got) != "[b0]" {
		t.Fatalf("granted %v, want the first", got)
	}
	admit(t, &a, "small", named("s", 3)...)
	admit(t, &a, "late", "l0")
	var order []messages.JobID
	for job := messages.JobID("b0"); len(order) < 10; {
		got := a.Release(job)
		if len(got) != 1 {
			t.Fatalf("granted %v, want one", got)
		}
		job = got[0]
		order = append(order, job)
	}
	if want := "[b1 s0 l0 b2 s1 b3 s2 b4 b5 b6]"; fmt.Sprint(order) != want {
		t.Errorf("order %v, want %s", order, want)
	}
}

func TestAdmissionIsBounded(t *testing.T) {
	a := NewAdmission(2, 3)
	if got := admit(t, &a, "x", "a", "b", "c"); fmt.Sprint(got) != "[a b]" {
		t.Errorf("granted %v, want two", got)
	}
	err := a.Admit("d", "x")
	if !errors.Is(err, &messages.Error{Code: messages.Busy}) {
		t.Fatalf("got %v, want busy", err)
	}
	if got := a.Request("d"); got != nil {
		t.Errorf("a job that was refused was granted %v", got)
	}
	if got := a.Release("c"); got != nil { // it is stopped while it waits
		t.Errorf("granted %v", got)
	}
	if got := a.Release("a"); got != nil {
		t.Errorf("granted %v, though nobody waits", got)
	}
	if err := a.Admit("d", "x"); err != nil {
		t.Errorf("refused %v although there is room", err)
	}
	if n := len(a.unstarted); n != 2 {
		t.Errorf("%d are unstarted, want 2", n)
	}
}

// A job that is placed anew asks anew, in its new scope, and its turn is free.
func TestAdmissionAgain(t *testing.T) {
	a := NewAdmission(1, 1)
	admit(t, &a, "x", "a")
	a.Release("a")
	a.Readmit("a", "y") // never refused, and not granted before it asks
	if got := a.Request("a"); fmt.Sprint(got) != "[a]" {
		t.Errorf("granted %v, want it again", got)
	}
	if NewAdmission(0, 1).Slots != 1 {
		t.Error("an admission without slots")
	}
}

// However jobs come, ask and go: never more starts at a time than slots, no
// slot is idle while somebody waits, each turn is given once, in the order of
// its scope, and no scope is passed over twice.
func TestAdmissionOfAnyEvents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		slots := rapid.IntRange(1, 3).Draw(t, "slots")
		a := NewAdmission(slots, 12)
		in, starting := map[messages.JobID]messages.ScopePath{}, map[messages.JobID]bool{}
		lines := map[messages.ScopePath][]messages.JobID{}
		type pair struct{ served, waits messages.ScopePath }
		passed := map[pair]int{} // so often since the waiting one had a turn, or began to wait
		forget := func(scope messages.ScopePath) {
			for p := range passed {
				if p.waits == scope {
					delete(passed, p)
				}
			}
		}
		hear := func(granted []messages.JobID) {
			for _, j := range granted {
				scope := in[j]
				if len(lines[scope]) == 0 || lines[scope][0] != j {
					t.Fatalf("%s of %s was granted; %v wait", j, scope, lines[scope])
				}
				lines[scope] = lines[scope][1:]
				starting[j] = true
				forget(scope)
				for other, line := range lines {
					if p := (pair{scope, other}); other != scope && len(line) > 0 {
						if passed[p]++; passed[p] > 1 {
							t.Fatalf("%s was served twice while %s waited", scope, other)
						}
					}
				}
			}
		}
		for i := range rapid.IntRange(1, 80).Draw(t, "steps") {
			known := slices.Sorted(func(yield func(messages.JobID) bool) {
				for j := range in {
					if !yield(j) {
						return
					}
				}
			})
			job := rapid.SampledFrom(append(known, "nobody")).Draw(t, "job")
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				id, scope := messages.JobID(fmt.Sprintf("j%02d", i)), rapid.SampledFrom([]messages.ScopePath{"a", "b", "c"}).Draw(t, "scope")
				if err := a.Admit(id, scope); (err != nil) != (len(in) == 12) {
					t.Fatalf("%v with %d jobs", err, len(in))
				} else if err == nil {
					in[id] = scope
				}
			case 1:
				scope, ok := in[job]
				if ok && !starting[job] && !slices.Contains(lines[scope], job) {
					lines[scope] = append(lines[scope], job)
				}
				hear(a.Request(job))
			case 2:
				scope := in[job]
				delete(in, job)
				delete(starting, job)
				lines[scope] = slices.DeleteFunc(lines[scope], func(j messages.JobID) bool { return j == job })
				hear(a.Release(job))
			case 3:
				if scope, ok := in[job]; ok { // it is placed anew
					delete(starting, job)
					lines[scope] = slices.DeleteFunc(lines[scope], func(j messages.JobID) bool { return j == job })
					granted := a.Release(job)
					in[job] = "a"
					a.Readmit(job, "a")
					hear(granted)
				}
			}
			waiting := 0
			for scope, line := range lines {
				if waiting += len(line); len(line) == 0 {
					forget(scope)
				}
			}
			if len(starting) > slots || len(starting) < slots && waiting > 0 || len(a.unstarted) != len(in) {
				t.Fatalf("%d start at a time, %d wait, %d are in; the machine counts %d", len(starting), waiting, len(in), len(a.unstarted))
			}
		}
	})
}

// A turn is offered only if one is free and nobody waits for it.
func TestAdmissionOffers(t *testing.T) {
	a := NewAdmission(2, 10)
	for _, job := range []messages.JobID{"a", "b", "c", "d"} {
		require.Nil(t, a.Admit(job, "main"))
	}
	require.False(t, a.TryAcquire("nobody"))
	a.Pause(true)
	require.False(t, a.TryAcquire("a"), "turns are held")
	a.Pause(false)
	require.True(t, a.TryAcquire("a"))
	require.True(t, a.TryAcquire("b"))
	require.False(t, a.TryAcquire("c"), "none is free")
	require.Empty(t, a.Request("c"))
	require.Equal(t, []messages.JobID{"c"}, a.Release("a"))
	require.Empty(t, a.Request("d"))
	require.Equal(t, []messages.JobID{"d"}, a.Release("b"))
	require.Nil(t, a.Admit("e", "main"))
	require.False(t, a.TryAcquire("e"))
	require.Empty(t, a.Release("c"))
	require.True(t, a.TryAcquire("e"))
	require.Empty(t, a.Request("e"), "it has its turn")
}

// While turns are held, jobs wait in their order and may leave; then they go on.
func TestAdmissionHold(t *testing.T) {
	a := NewAdmission(1, 10)
	first := admit(t, &a, "a", "first")
	a.Pause(true)
	held := admit(t, &a, "a", "second", "third", "fourth")
	held = append(held, a.Release("first")...)
	held = append(held, a.Release("second")...)
	if len(first) != 1 || len(held) != 0 {
		t.Errorf("before the hold %v had turns, and %v in it", first, held)
	}
	if got := a.Pause(false); !slices.Equal(got, []messages.JobID{"third"}) {
		t.Errorf("behind the hold %v had turns, want the third", got)
	}
}
