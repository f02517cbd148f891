package engine

import (
	"testing"
	"time"
)

func TestPace(t *testing.T) {
	now := time.Now()
	p := &timeBudget{share: 5, most: 10 * time.Millisecond}
	take := func(took time.Duration) time.Duration {
		now = now.Add(took)
		rest := p.spend(now, took)
		now = now.Add(rest)
		return rest
	}
	spent := time.Duration(0)
	for ; take(time.Millisecond) == 0; spent += time.Millisecond {
		if spent > 20*time.Millisecond {
			t.Fatal("it never rests")
		}
	}
	if spent < 10*time.Millisecond {
		t.Errorf("it rests when it has taken %v", spent)
	}
	began := now // from here on it has nothing saved
	for range 100 {
		take(time.Millisecond)
	}
	if got := now.Sub(began); got < 495*time.Millisecond || got > 505*time.Millisecond {
		t.Errorf("100 ms took %v, want 500", got)
	}
	if rest := take(time.Second); rest < 3900*time.Millisecond || rest > 4*time.Second {
		t.Errorf("a second is followed by %v", rest)
	}
	now = now.Add(time.Hour) // and no more is saved than that
	if take(13*time.Millisecond) == 0 {
		t.Error("it has saved more than it may")
	}
}
