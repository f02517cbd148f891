package main

import (
	"math"
	"testing"
	"time"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		of   []float64
		want float64
	}{
		{[]float64{3}, 3},
		{[]float64{9, 1, 5}, 5},
		{[]float64{4, 1, 2, 100}, 3},
		{[]float64{-1, -3, -2}, -2},
	} {
		before := append([]float64(nil), c.of...)
		if got := median(c.of); got != c.want {
			t.Errorf("median(%v): got %v, want %v", c.of, got, c.want)
		}
		for i := range before {
			if before[i] != c.of[i] {
				t.Errorf("median(%v) changed its figures", before)
			}
		}
	}
	if !math.IsNaN(median(nil)) {
		t.Errorf("the median of nothing is %v", median(nil))
	}
}

func TestPercentileIsTheNearestRank(t *testing.T) {
	var hundred []time.Duration
	for i := 100; i > 0; i-- {
		hundred = append(hundred, time.Duration(i))
	}
	for _, c := range []struct {
		of   []time.Duration
		p    float64
		want time.Duration
	}{
		{hundred, 0.50, 50},
		{hundred, 0.99, 99},
		{hundred, 1, 100},
		{hundred, 0, 1},
		{hundred[:1], 0.99, 100},
		{[]time.Duration{20, 10}, 0.50, 10},
		{[]time.Duration{20, 10}, 0.99, 20},
		{nil, 0.99, 0},
	} {
		if got := percentile(c.of, c.p); got != c.want {
			t.Errorf("percentile %v of %d: got %d, want %d", c.p, len(c.of), got, c.want)
		}
	}
}

// A machine that is twice as slow in one round is so for both sides of it: the
// ratio does not notice, where the ratio of the medians would.
func TestPairRatioIsTakenRoundByRound(t *testing.T) {
	ours, raw := []float64{11, 22, 44}, []float64{10, 20, 40}
	if got := pairRatio(ours, raw); math.Abs(got-1.1) > 1e-12 {
		t.Errorf("got %v, want 1.1", got)
	}
	if got := pairRatio([]float64{1, 3, 9}, []float64{1, 1}); got != 2 {
		t.Errorf("a round that only one side has: got %v, want 2", got)
	}
	if got := pairRatio([]float64{1, 6}, []float64{0, 2}); got != 3 {
		t.Errorf("a round without a raw figure: got %v, want 3", got)
	}
	if !math.IsNaN(pairRatio(nil, raw)) {
		t.Error("no round has a ratio")
	}
}

func TestLatenciesAreMilliseconds(t *testing.T) {
	v := latencies([]time.Duration{time.Millisecond, 3 * time.Millisecond, 1500 * time.Microsecond})
	if v["p50"] != 1.5 || v["p99"] != 3 {
		t.Errorf("got %v", v)
	}
	if got := perSecond(30, 1500*time.Millisecond); got != 20 {
		t.Errorf("30 in 1.5 s: got %v a second", got)
	}
}
