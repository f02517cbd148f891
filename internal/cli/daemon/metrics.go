package daemon

import (
	"context"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"troupe/backends"
	"troupe/internal/cli/connect"
	"troupe/internal/journal"
	"troupe/internal/node"
	"troupe/messages"
)

// metrics holds what /metrics reports of the node. Counters follow the node's facts;
// gauges query it at each scrape. The registry is our own.
type metrics struct {
	registry *prometheus.Registry
	scopes   scopeLabels
	node     *node.Node
	stop     func()

	starts, ends, bytes *prometheus.CounterVec
	waits               prometheus.Histogram
	facts, dropped      prometheus.Counter
	failures            *prometheus.CounterVec
	jobs                *prometheus.Desc

	from    messages.Seq           // earlier daemons have counted all facts up to this one
	counted map[messages.UID]int64 // bytes counted of ended jobs that may still write; used by one goroutine
}

// maxCounted bounds that map. Late output of further jobs is not counted.
const maxCounted = 4096

func newNumbers() *metrics {
	n := &metrics{registry: prometheus.NewRegistry(), stop: func() {}, counted: map[messages.UID]int64{}}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "troupe", Name: name, Help: help}, labels)
	}
	n.starts = counter("job_starts_total", "Jobs whose process was started.", "scope")
	n.ends = counter("job_ends_total", "Jobs that have ended, by outcome.", "scope", "outcome")
	n.bytes = counter("output_bytes_total", "Bytes that jobs have written, counted when they end.", "scope")
	n.failures = counter("actor_failures_total", "Actor crashes, after each of which the actor was restarted or replaced.", "kind")
	n.waits = prometheus.NewHistogram(prometheus.HistogramOpts{
		Namespace: "troupe", Name: "queue_wait_seconds", Help: "Time from the request of a job to the start of its process.",
		Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
	})
	n.facts = prometheus.NewCounter(prometheus.CounterOpts{Namespace: "troupe", Name: "notices_total", Help: "Events recorded by the daemon and counted here."})
	n.dropped = prometheus.NewCounter(prometheus.CounterOpts{Namespace: "troupe", Name: "notices_dropped_total", Help: "Events removed before they were counted here."})
	n.jobs = prometheus.NewDesc("troupe_jobs", "Jobs that the daemon lists, by state.", []string{"scope", "state"}, nil)
	n.registry.MustRegister(n.starts, n.ends, n.bytes, n.failures, n.waits, n.facts, n.dropped,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return n
}

// failure counts a failure of an actor of this kind.
func (n *metrics) failure(kind string) { n.failures.WithLabelValues(kind).Inc() }

// watch adds the gauge that reports an unresponsive keeper.
func (n *metrics) watch(client backends.RemoteEngine) {
	n.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: "troupe", Name: "keeper_unresponsive", Help: "1 while the keeper of the jobs runs and does not answer, else 0.",
	}, func() float64 {
		if client.Health() != nil {
			return 1
		}
		return 0
	}))
}

// faulty adds the gauge that reports a plan of faults.
func (n *metrics) faulty() {
	g := prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "troupe", Name: "faults", Help: "1: faults of a plan happen to the jobs of this daemon. Absent without a plan."})
	g.Set(1)
	n.registry.MustRegister(g)
}

// since resumes the counts of earlier daemons. It starts after the last fact in the
// journal, and counts only new output of jobs whose end is recorded.
func (n *metrics) since(j *journal.Bolt) (err error) {
	if n.from, err = j.Last(); err != nil {
		return err
	}
	live, err := j.Live()
	for _, e := range live {
		if e.Job.State.Ended() {
			n.remember(e.Job)
		}
	}
	return err
}

// follow counts the facts of a node until close.
func (n *metrics) follow(node *node.Node) error {
	ctx, cancel := context.WithCancel(context.Background())
	facts, err := node.Subscribe(ctx, messages.Subscribe{After: n.from, Own: true})
	if err != nil {
		cancel()
		return err
	}
	n.node = node
	n.registry.MustRegister(n)
	done := make(chan struct{})
	n.stop = func() {
		cancel()
		<-done
	}
	go func() {
		defer close(done)
		defer func() { _ = facts.Close() }() // an open channel would delay the end of the node
		for {
			m, err := facts.Next(ctx)
			if err != nil {
				return
			}
			n.count(m)
		}
	}()
	return nil
}

func (n *metrics) close() { n.stop() }

func (n *metrics) count(m any) {
	switch m := m.(type) {
	case messages.FactsDropped:
		n.dropped.Add(float64(m.To - m.From + 1))
	case messages.Notification:
		n.facts.Inc()
		switch f := m.Fact.(type) {
		case messages.CommandStarted:
			n.starts.WithLabelValues(n.scopes.of(f.Job.Scope)).Inc()
			if !f.Job.Started.IsZero() {
				n.waits.Observe(f.Job.Started.Sub(f.Job.Created).Seconds())
			}
		case messages.CommandFinished:
			n.ends.WithLabelValues(n.scopes.of(f.Job.Scope), string(f.Job.End.Outcome)).Inc()
			n.wrote(f.Job, 0)
			n.remember(f.Job)
		case messages.CommandRetired:
			if before, ok := n.counted[f.Job.UID]; ok {
				n.wrote(f.Job, before)
				delete(n.counted, f.Job.UID)
			}
		}
	}
}

// wrote counts what a job has written beyond before bytes.
func (n *metrics) wrote(job messages.Record, before int64) {
	if more := written(job) - before; more > 0 {
		n.bytes.WithLabelValues(n.scopes.of(job.Scope)).Add(float64(more))
	}
}

// remember stores the counted bytes of a job until it is retired.
func (n *metrics) remember(job messages.Record) {
	if len(n.counted) < maxCounted {
		n.counted[job.UID] = written(job)
	}
}

// written returns how many bytes a job has written on all its streams.
func written(job messages.Record) (sum int64) {
	for _, out := range job.Output {
		sum += out.Bytes
	}
	return sum
}

// Describe implements prometheus.Collector.
func (n *metrics) Describe(to chan<- *prometheus.Desc) { to <- n.jobs }

// Collect implements prometheus.Collector. It counts the present jobs.
func (n *metrics) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), connect.ReplyPatience)
	defer cancel()
	reply, err := n.node.Ask(ctx, messages.ListJobs{Finished: true})
	list, ok := reply.(messages.JobList)
	if err != nil || !ok {
		return // the node is shutting down
	}
	type key struct{ scope, state string }
	counts := map[key]int{}
	for _, job := range list.Jobs {
		state := job.State
		if state.Ended() {
			state = messages.Finished
		}
		counts[key{n.scopes.of(job.Scope), string(state)}]++
	}
	for k, count := range counts {
		to <- prometheus.MustNewConstMetric(n.jobs, prometheus.GaugeValue, float64(count), k.scope, k.state)
	}
}

// scopeLabels limits how many scopes get a label: clients choose the names, and a
// series is never removed.
type scopeLabels struct {
	mu   sync.Mutex
	seen map[messages.ScopePath]bool
}

const (
	maxScopeLabels = 64
	otherScopes    = "other" // label of all further scopes
)

func (l *scopeLabels) of(scope messages.ScopePath) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen == nil {
		l.seen = map[messages.ScopePath]bool{}
	}
	if !l.seen[scope] && len(l.seen) == maxScopeLabels {
		return otherScopes
	}
	l.seen[scope] = true
	return string(scope)
}
