package messages

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A record keeps of its request what a rerun needs, with the names of variables and not their
// values; with the policy caller, what is the caller's is not kept.
func TestTermsOfARequest(t *testing.T) {
	r := RunCommand{
		Env: Env{Policy: EnvClean, Set: []string{"A=1", "B=secret", "A=2"}}, Umask: "0077", Store: Store{LogFile: "/log", Persist: true},
		ProcAttr: ProcAttr{Limits: Limits{Nice: 5}, IdleTimeout: 7}, RerunOf: "u1",
	}
	require.Equal(t, &RequestTerms{
		EnvPolicy: EnvClean, EnvNames: []string{"A", "B"}, Umask: "0077", Store: Store{Persist: true}, Limits: Limits{Nice: 5}, IdleTimeout: 7, RerunOf: "u1",
	}, r.Terms())
	r.Env.Policy = EnvCaller
	require.Equal(t, &RequestTerms{EnvPolicy: EnvCaller, EnvNames: []string{"A", "B"}, Store: Store{Persist: true}, IdleTimeout: 7, RerunOf: "u1"}, r.Terms())
}

// The record of an older build has no terms: the defaults are used, and the environment of a
// caller who gives one.
func TestRerunOfAnOlderRecord(t *testing.T) {
	job := Record{ID: "j1", UID: "u1", Scope: MainScope, Session: DefaultSession, Command: "make", Dir: "/src", Timeout: 5, Output: []StreamOutput{{Stream: Stdout}, {Stream: Stderr}}}
	r, err := RunCommand{RerunOf: "j1"}.Repeating(job, false)
	require.Nil(t, err)
	require.Equal(t, RunCommand{
		RerunOf: "u1", Program: Program{Text: "make"}, Scope: MainScope, Session: DefaultSession, Dir: "/src", Timeout: 5, Stdio: Stdio{Streams: SeparateStreams},
	}, r)
	r, err = RunCommand{RerunOf: "j1", Env: Env{Base: []string{"A=1"}}}.Repeating(job, false)
	require.Nil(t, err)
	require.Equal(t, Env{Policy: EnvCaller, Base: []string{"A=1"}}, r.Env)
	_, err = RunCommand{RerunOf: "j1"}.Repeating(Record{ID: "j1"}, false)
	require.Equal(t, Refused, err.Code)
}

// In JSON the record says which job it runs again, and its idle timeout, and a reader gets both.
func TestRerunInJSON(t *testing.T) {
	job := Record{ID: "j2", Request: &RequestTerms{EnvPolicy: EnvCaller, Stdin: StdinPipe, IdleTimeout: 1e9, RerunOf: "u1"}}
	b, err := job.MarshalJSON()
	require.NoError(t, err)
	require.Contains(t, string(b), `"request":{"env_policy":"caller","stdin":"pipe"},`)
	require.Contains(t, string(b), `"idle_timeout_ms":1000,"rerun_of":"u1"`)
	var back Record
	require.NoError(t, back.UnmarshalJSON(b))
	require.Equal(t, job.Request, back.Request)
	b, err = Record{}.MarshalJSON()
	require.NoError(t, err)
	require.NotContains(t, string(b), `"request"`)
}
