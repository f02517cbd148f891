package http

// lease is the right to write to a job's input.
type lease struct{}
