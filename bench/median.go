package main

import (
	"math"
	"slices"
	"time"
)

// values holds what one side measured in one round, by key.
type values map[string]float64

// median returns the median of figures; NaN without any.
func median(figures []float64) float64 {
	if len(figures) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(figures))
	mid := len(s) / 2
	if len(s)%2 == 1 {
		return s[mid]
	}
	return (s[mid-1] + s[mid]) / 2
}

// percentile returns the smallest time that at least the share p of the times does not
// exceed (nearest rank); 0 without any.
func percentile(times []time.Duration, p float64) time.Duration {
	if len(times) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(times))
	rank := int(math.Ceil(p * float64(len(s))))
	return s[min(max(rank, 1), len(s))-1]
}

// pairRatio returns the median ratio ours ÷ raw over the rounds that both sides have. The
// two of a round run one after the other, so that a slow phase of the machine affects
// both.
func pairRatio(ours, raw []float64) float64 {
	var ratios []float64
	for i := range min(len(ours), len(raw)) {
		if raw[i] != 0 {
			ratios = append(ratios, ours[i]/raw[i])
		}
	}
	return median(ratios)
}

// pairDifference returns the median difference ours − raw, likewise.
func pairDifference(ours, raw []float64) float64 {
	var differences []float64
	for i := range min(len(ours), len(raw)) {
		differences = append(differences, ours[i]-raw[i])
	}
	return median(differences)
}

// latencies returns the p50 and p99 of a round in milliseconds.
func latencies(times []time.Duration) values {
	return values{
		"p50": float64(percentile(times, 0.50)) / float64(time.Millisecond),
		"p99": float64(percentile(times, 0.99)) / float64(time.Millisecond),
	}
}

// perSecond returns a rate.
func perSecond(n int, took time.Duration) float64 { return float64(n) / took.Seconds() }
