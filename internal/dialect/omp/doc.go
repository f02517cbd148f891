// Package omp is the dialect of oh-my-pi: the tools bash and job, with that system's
// parameters, defaults, texts and details (docs/requirements.md, dialect omp).
//
// Its pure files make a request of parameters, and a result of how a run ended. Its
// Session, in the files with a context, asks a dialects.Host, keeps the live shells of
// its calls and writes the artifacts that its results name. Jobs is the table of
// background jobs, which the sessions of an agent and of its sub-agents share.
//
// One call goes through the steps of pipeline.go, in their order. bash is strict and
// exclusive: two calls of one session never overlap.
package omp
