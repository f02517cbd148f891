// Package conformance is one suite for every kind of job. Each backend runs it over each
// engine it supports, and so does the fake. It checks the contract of package backends
// and nothing more. A test starts a Program and waits for facts. Only what must not
// happen early is timed; other bounds are generous.
//
//	adopt_cases.go      adoption, settlement and inventory
//	executor_cases.go   closing and releasing an executor
//	fact_recorder.go    recording of facts
//	idle_cases.go       idle timeouts
//	input_cases.go      input, signals and answers to controls
//	output_cases.go     output and its growth
//	process_cases.go    real processes: trees, environment, descriptors
//	run.go              one job of a test
//	start_cases.go      starts and exits
//	stop_cases.go       stops and deadlines
//	subject.go          the subject, the suite and its programs
//	subprocess.go       running the test program in a process of its own
//	terminal_cases.go   commands on a terminal
package conformance
