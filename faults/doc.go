// Package faults decides which faults happen to the jobs of a host. A plan says where, to
// which jobs, when and what; an Injector answers each event with the faults that are due. The
// same plan, seed and order of events give the same faults. Package faults performs none: it
// has no clock, no process and no goroutine. It may change.
//
//	plan.go       a plan, its text as TOML or JSON
//	rule.go       a rule: its fields, what may be combined
//	point.go      where a fault can happen, and what can happen there
//	injector.go   which faults an event meets
//	lines.go      the lines of a plan as TOML
//	ready.go      plans that come with the program
package faults
