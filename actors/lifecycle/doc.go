// Package lifecycle decides what happens to commands, sessions, admission and waits. It
// performs nothing: the same state, event and time give the same result. It has no clock, no
// I/O, no goroutine and no actor library.
//
// Each machine has a method Step. It takes an event, and the time where that matters, and
// returns effects in the order in which the actor performs them. Events are messages or
// types of this package. An event without meaning in a phase changes nothing.
//
//	admission.go          grants start slots, round-robin over the scopes
//	command.go            the phases of a job, from queued to finished
//	control.go            requests to a job: stop, promote, deadline, input
//	effect.go             events, effects, timers and limits of a command
//	notice.go             when a failed notice is tried again
//	retire.go             the last fact of a job and what the engine may forget
//	session_queue.go      which jobs of a session may run
//	start_conditions.go   jobs that wait for the ends of others, for locks and in queues
//	terminal_queries.go   whether troupe answers the queries of a terminal
//	wait.go               when a blocking wait ends
package lifecycle
