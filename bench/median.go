package main

import (
	"math"
	"slices"
	"time"
)

// values is what one side measured in one round, by key.
type values map[string]float64

// median is the middle of some figures, or the mean of the two middle ones;
// NaN of none.
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

// percentile is the smallest of the times that at least the share p of them
// does not exceed (nearest rank); 0 of none.
func percentile(times []time.Duration, p float64) time.Duration {
	if len(times) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(times))
	rank := int(math.Ceil(p * float64(len(s))))
	return s[min(max(rank, 1), len(s))-1]
}

// pairRatio is the median of ours ÷ raw over the rounds that both sides have.
// The two of one round were measured one after the other, so that what slows
// the machine for a while slows both.
func pairRatio(ours, raw []float64) float64 {
	var ratios []float64
	for i := range min(len(ours), len(raw)) {
		if raw[i] != 0 {
			ratios = append(ratios, ours[i]/raw[i])
		}
	}
	return median(ratios)
}

// pairDifference is the median of ours − raw, likewise.
func pairDifference(ours, raw []float64) float64 {
	var differences []float64
	for i := range min(len(ours), len(raw)) {
		differences = append(differences, ours[i]-raw[i])
	}
	return median(differences)
}

// latencies are the p50 and p99 of a round in milliseconds.
func latencies(times []time.Duration) values {
	return values{
		"p50": float64(percentile(times, 0.50)) / float64(time.Millisecond),
		"p99": float64(percentile(times, 0.99)) / float64(time.Millisecond),
	}
}

// perSecond is a rate.
func perSecond(n int, took time.Duration) float64 { return float64(n) / took.Seconds() }
