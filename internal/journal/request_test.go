package journal_test

import (
	"os"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/journal"
	"troupe/messages"
)

// setAll sets every field of a value.
func setAll(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				setAll(v.Field(i))
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		setAll(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			setAll(v.Index(i))
		}
	case reflect.String:
		v.SetString("\xff\x00 any bytes")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(-7)
	default:
		panic(v.Kind())
	}
}

// waits is a fact about a job that is queued.
func waits(id messages.JobID, seq messages.Seq) messages.FactRecorded {
	job := aJob(id)
	job.State = messages.Queued
	return messages.FactRecorded{Seq: seq, Fact: messages.CommandQueued{Job: job}}
}

// A queued job has its whole request, whatever that is, until it is about to start. Its file is
// its owner's alone.
func TestAQueuedJobHasItsRequest(t *testing.T) {
	each(t, func(t *testing.T, j all) {
		var run messages.RunCommand
		setAll(reflect.ValueOf(&run).Elem())
		run.Env.Base = nil // it is in the environment
		bare := messages.RunCommand{Program: messages.Program{Text: "true"}, Open: &messages.SessionPlan{}}
		env := []string{"A=1", "B=\xff", ""}
		must(t, j.Write(journal.Batch{Facts: []messages.FactRecorded{waits("j1", 1), waits("j2", 2), waits("j3", 3)}, Requests: []journal.Request{
			{Job: "j1", UID: aJob("j1").UID, Run: &run, Env: env},
			{Job: "j2", UID: "another", Run: &bare},
			{Job: "j3", UID: aJob("j3").UID, Run: &bare},
			{Job: "j9", UID: aJob("j9").UID, Run: &bare},
		}}))
		requests := func() map[messages.JobID]journal.Request {
			all, err := j.Live()
			must(t, err)
			found := map[messages.JobID]journal.Request{}
			for _, e := range all {
				if e.Request.Run != nil {
					found[e.Job.ID] = e.Request
				}
			}
			return found
		}
		require.Equal(t, map[messages.JobID]journal.Request{
			"j1": {Job: "j1", UID: aJob("j1").UID, Run: &run, Env: env}, "j3": {Job: "j3", UID: aJob("j3").UID, Run: &bare},
		}, requests())

		changed := waits("j3", 4).Fact.(messages.CommandQueued).Job
		must(t, j.Append(number(4, messages.CommandChanged{Job: changed})))
		require.Len(t, requests(), 2)
		changed.State = messages.Starting
		must(t, j.Append(number(5, messages.CommandChanged{Job: changed})))
		require.Len(t, requests(), 1)
		changed.State = messages.Queued // it waits again
		must(t, j.Write(journal.Batch{Facts: number(6, messages.CommandChanged{Job: changed}), Requests: []journal.Request{{Job: "j3", UID: changed.UID, Run: &bare}}}))
		require.Len(t, requests(), 2)
		must(t, j.Append(number(7, end("j1"), retire("j1"))))
		require.Len(t, requests(), 1)
	})
	path := place(t)
	bolt(t, path, journal.BoltOptions{})
	info, err := os.Stat(path)
	must(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}
