package faults

import (
	"cmp"
	"hash/fnv"
	"math"
	"path"
	"slices"
	"strconv"
	"time"

	"troupe/messages"
)

// Event is something at which a fault can happen.
type Event struct {
	Point   Point
	Job     messages.JobID
	Scope   messages.ScopePath
	Name    string
	Command string
	Output  []byte // of Output: what the job has written so far, or the end of it
}

// Fault is one fault that is due.
type Fault struct {
	Rule   string         `json:"rule"`
	Number int            `json:"number"` // of this rule, from 1
	Job    messages.JobID `json:"job"`
	Where  Point          `json:"where"`
	Do     Action         `json:"do"`
	Target Target         `json:"target,omitempty"`

	After  time.Duration `json:"-"`
	For    time.Duration `json:"-"`
	Errno  string        `json:"errno,omitempty"`
	Bytes  int           `json:"bytes,omitempty"`
	Code   *int          `json:"code,omitempty"`
	Signal string        `json:"signal,omitempty"`
}

// Injector decides for each event which faults it meets. It is not safe for concurrent use.
type Injector struct {
	plan  Plan
	seen  []int              // by rule: the events that it selected
	fired []int              // and its faults
	nth   map[occurrence]int // by rule and job: the events that it selected
	jobs  []messages.JobID   // those in nth, the oldest first
}

type occurrence struct {
	rule int
	job  messages.JobID
}

// New returns an Injector at the beginning of a plan.
func New(p Plan) *Injector {
	return &Injector{plan: p, seen: make([]int, len(p.Rules)), fired: make([]int, len(p.Rules)), nth: map[occurrence]int{}}
}

// On returns the faults that an event meets, in the order of the rules.
//
// Nth and Every count events in their order. Probability does not: whether the nth event of a
// job meets the fault depends on the seed, the rule, the job's id and n, so that jobs which run
// at the same time have the same faults in each run.
func (i *Injector) On(e Event) (due []Fault) {
	for n := range i.plan.Rules {
		r := &i.plan.Rules[n]
		at := occurrence{n, e.Job}
		if !r.selects(e) || r.match != nil && i.nth[at] > 0 {
			continue
		}
		i.seen[n]++
		i.count(at)
		if r.Times > 0 && i.fired[n] >= r.Times || !r.applies(i.plan.Seed, e.Job, i.seen[n], i.nth[at]) {
			continue
		}
		i.fired[n]++
		due = append(due, Fault{
			Rule: r.Name, Number: i.fired[n], Job: e.Job, Where: r.Where, Do: r.Do, Target: r.Target,
			After: time.Duration(r.After), For: time.Duration(r.For), Errno: cmp.Or(r.Errno, implied[r.Do]), Bytes: r.Bytes, Code: r.Code, Signal: r.Signal,
		})
	}
	return due
}

// maxJobs bounds the jobs whose events are counted each: a daemon keeps as many finished ones.
const maxJobs = 10_000

// count counts an event of a job.
func (i *Injector) count(at occurrence) {
	if !slices.Contains(i.jobs, at.job) {
		if i.jobs = append(i.jobs, at.job); len(i.jobs) > maxJobs {
			for n := range i.plan.Rules {
				delete(i.nth, occurrence{n, i.jobs[0]})
			}
			i.jobs = i.jobs[1:]
		}
	}
	i.nth[at]++
}

func (r *Rule) selects(e Event) bool {
	if r.Where != e.Point || r.Scope != "" && !r.Scope.Contains(e.Scope) {
		return false
	}
	if r.Job != "" {
		if fits, _ := path.Match(r.Job, e.Name); !fits {
			return false
		}
	}
	return (r.command == nil || r.command.MatchString(e.Command)) && (r.match == nil || r.match.Match(e.Output))
}

// applies reports whether a rule applies to the event: the nth of all, and the ofJob-th of the job.
func (r *Rule) applies(seed uint64, job messages.JobID, nth, ofJob int) bool {
	switch {
	case r.Nth > 0:
		return nth == r.Nth
	case r.Every > 0:
		return nth%r.Every == 0
	case r.Probability > 0:
		return chance(seed, r.Name, job, ofJob) < r.Probability
	}
	return true
}

// chance returns a number from 0 to below 1 that depends on its arguments alone.
func chance(seed uint64, rule string, job messages.JobID, nth int) float64 {
	h := fnv.New64a()
	for _, part := range []string{strconv.FormatUint(seed, 10), rule, string(job), strconv.Itoa(nth)} {
		_, _ = h.Write([]byte(part))
		_, _ = h.Write([]byte{0})
	}
	mixed := h.Sum64() // FNV alone leaves its upper bits alike for alike texts
	mixed ^= mixed >> 33
	mixed *= 0xff51afd7ed558ccd
	mixed ^= mixed >> 33
	mixed *= 0xc4ceb9fe1a85ec53
	mixed ^= mixed >> 33
	return float64(mixed>>11) / math.Exp2(53)
}

// Watches reports whether a rule waits for the output of a job.
func (i *Injector) Watches(e Event) bool {
	return slices.ContainsFunc(i.plan.Rules, func(r Rule) bool {
		r.match = nil
		return e.Point == Output && r.selects(e)
	})
}

// Counts is what an Injector has counted of one rule.
type Counts struct {
	Seen  int                    `json:"seen"`
	Fired int                    `json:"fired"`
	Jobs  map[messages.JobID]int `json:"jobs,omitempty"` // events of each job
}

// Counts returns what was counted, by the names of the rules.
func (i *Injector) Counts() map[string]Counts {
	all := map[string]Counts{}
	for n, r := range i.plan.Rules {
		all[r.Name] = Counts{Seen: i.seen[n], Fired: i.fired[n], Jobs: map[messages.JobID]int{}}
	}
	for at, n := range i.nth {
		all[i.plan.Rules[at.rule].Name].Jobs[at.job] = n
	}
	return all
}

// Continue goes on from former counts. Rules that these do not have begin anew.
func (i *Injector) Continue(all map[string]Counts) {
	for n, r := range i.plan.Rules {
		c := all[r.Name]
		i.seen[n], i.fired[n] = c.Seen, c.Fired
		for job, nth := range c.Jobs {
			i.count(occurrence{n, job})
			i.nth[occurrence{n, job}] = nth
		}
	}
}
