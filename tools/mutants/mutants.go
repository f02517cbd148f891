package main

// mutant is one change of a file that breaks a promise, and the tests of which one must fail.
type mutant struct {
	name     string // what is broken
	file     string
	old, new string // old is in the file once
	folder   string // of the tests
	run      string // regular expression of their names
}

// mutants lists the changes. docs/faults.md has their names.
var mutants = []mutant{
	{"the output is not drained", "backends/engine/exit.go", "if !s.drainQuickly() {", "if s == nil {", "backends/engine", "^TestFaultTheLastWriteIsDrained$"},
	{"the start time of a pid is not checked", "backends/engine/proc_linux.go", "now.start != p.start {\n\t\treturn\n\t}\n\tfor _, sig", "now.start == 0 {\n\t\treturn\n\t}\n\tfor _, sig", "backends/engine", "^TestASignalKnowsItsProcess$"},
	{"only the main process is killed", "backends/engine/escalation.go", "\tj.tree.kill()\n\tj.proc.signal", "\tj.proc.signal", "backends/engine", "^TestFaultTreeOfAnObedientLeaderEnds$"},
	{"an end is settled before it is recorded", "actors/lifecycle/retire.go", "case !c.kept:\n\t\treturn c, todo\n", "case false:\n", "actors/lifecycle", "^TestCommand"},
	{"a run is answered twice", "actors/supervisor_run.go", "\te.replyTo = nil\n}", "}", "supervision_test", "^TestIdempotency"},
	{"an idempotency key joins another request", "actors/supervisor_idempotency.go", "!sameRequest(e.asked.digest, r)", "false", "supervision_test", "^TestIdempotencyConflicts$"},
	{"a timer that was moved still counts", "actors/lifecycle/command.go", "if e.Gen != int(c.gens[e.Timer]) {", "if false {", "actors/lifecycle", "^TestCommand"},
	{"a later stop replaces the first cause", "actors/lifecycle/control.go", "return c, []Effect{Stop{cause, grace}} // may shorten the grace; the first cause stays", "return c.stop(cause, grace)", "actors/lifecycle", "^TestCommand"},
	{"start slots are not given round-robin", "actors/lifecycle/admission.go", "a.ring = append(a.ring, scope)\n\t\t} else {", "a.ring = append([]messages.ScopePath{scope}, a.ring...)\n\t\t} else {", "actors/lifecycle", "^TestAdmission"},
	{"a serial session runs all at once", "actors/lifecycle/session_queue.go", "i < len(s.waiting) && len(s.active) < s.Parallel;", "i < len(s.waiting);", "actors/lifecycle", "^TestSession"},
	{"a lock is not freed", "actors/lifecycle/start_conditions.go", "func(h messages.JobID) bool { return h == job }", "func(h messages.JobID) bool { return false }", "actors/lifecycle", "^TestALock"},
	{"a job with two locks is overtaken", "actors/lifecycle/start_conditions.go", "claimed[n.resource]++", "_ = n", "actors/lifecycle", "^TestNoOneStarves$"},
	{"a lease is forgotten", "internal/gateway/http/scope_lease.go", "\treply, err := c.node.AskAgain(context.WithoutCancel(c.ctx), func() messages.Refusable { return r })\n\tswitch m", "\treply, err := any(nil), error(nil)\n\tswitch m", "internal/gateway/http", "^TestALeaseEndsWithItsClient$"},
	{"the token is not checked", "internal/gateway/http/auth.go", "case !local && !g.token.matches(", "case false && !g.token.matches(", "internal/gateway/http", "^TestSecurityLoopback$"},
	{"the Host is not checked", "internal/gateway/http/auth.go", "case !local && !ourHost(at, r.Host):", "case false:", "internal/gateway/http", "^TestSecurityLoopback$"},
	{"the Origin is not checked", "internal/gateway/http/auth.go", "case !ourOrigin(at, r.Header.Values(\"Origin\")), g.foreign.Check(r) != nil:", "case false:", "internal/gateway/http", "^TestSecurity"},
	{"others can use the socket", "internal/gateway/http/listen_socket.go", "os.Chmod(path, 0o600)", "os.Chmod(path, 0o666)", "internal/gateway/http", "^TestSecuritySocketModes$"},
	{"a client names jobs of others", "internal/gateway/http/pass.go", "ofJob, *field = true, c.job(*field)", "ofJob = true", "internal/gateway/http", "^TestSecurityJobStaysInItsLeasedScope$"},
	{"a cursor of another journal is taken", "actors/supervisor_channels.go", "return at < 0 || at+1", "return at >= 0 && at+1", "internal/gateway/http", "^TestFaultEventsOfAReplacedJournal$"},
	{"a webhook is signed without its body", "internal/gateway/webhook/sign.go", "mac.Write(body)", "_ = body", "internal/gateway/webhook", "^TestWebhookIsSigned$"},
	{"a text ends its block", "internal/dialect/codelia/queue.go", "strings.NewReplacer(\"<\", `\\u003c`, \">\", `\\u003e`)", "strings.NewReplacer()", "internal/dialect/codelia", "^TestR253"},
	{"faults do not depend on the seed", "faults/injector.go", "strconv.FormatUint(seed, 10), rule", "\"\", rule", "faults", "^TestChance$"},
	{"a rule counts past its bound", "faults/injector.go", "r.Times > 0 && i.fired[n] >= r.Times || ", "", "faults", "^TestOccasions$"},
}
