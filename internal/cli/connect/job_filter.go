package connect

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"troupe/internal/api"
	"troupe/internal/cli/flags"
	"troupe/messages"
)

// JobFilter selects jobs of a list by the flags of ps and rm.
type JobFilter struct {
	Name    string // a pattern as of path.Match; "": any
	Outcome string // "": any
	Older   flags.Duration
}

// Define adds the flags of the filter to a verb.
func (f *JobFilter) Define(cmd *cobra.Command) {
	set := cmd.Flags()
	f.Older = flags.Duration{Name: "older", Zero: true}
	set.StringVar(&f.Name, "name", "", "only jobs whose name matches the `PATTERN`, like 'web*'")
	set.StringVar(&f.Outcome, "outcome", "", "only jobs that ended with this `OUTCOME`: "+joinedOr(Outcomes()))
	set.Var(&f.Older, "older", "only jobs that ended more than D ago, or have not ended and are older than D")
}

// Outcomes lists how a job can end.
func Outcomes() []string { return api.Values(messages.Exited) }

// joinedOr joins words to "a, b or c".
func joinedOr(words []string) string {
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// OneOf checks a flag that takes one of some words.
func OneOf(flag, value string, words []string) error {
	if slices.Contains(words, value) {
		return nil
	}
	return messages.Invalid(flag, fmt.Sprintf("invalid %s %s: use %s", flag, strconv.Quote(value), joinedOr(words)))
}

// Check validates what was typed.
func (f *JobFilter) Check(cmd *cobra.Command) error {
	if _, err := path.Match(f.Name, ""); err != nil {
		return messages.Invalid("name", fmt.Sprintf("%q is no pattern of names: * is any text, ? one letter, [a-c] one of these", f.Name))
	}
	if cmd.Flags().Changed("outcome") {
		return OneOf("outcome", f.Outcome, Outcomes())
	}
	return nil
}

// Select returns the jobs that pass the filter.
func (f *JobFilter) Select(jobs []messages.Record, now time.Time) []messages.Record {
	return slices.DeleteFunc(jobs, func(j messages.Record) bool {
		since := j.Created
		if j.State.Ended() {
			since = j.End.At
		}
		named, _ := path.Match(f.Name, j.Name)
		return f.Name != "" && !named ||
			f.Outcome != "" && j.End.Outcome != messages.Outcome(f.Outcome) ||
			f.Older.Given && now.Sub(since) <= f.Older.D
	})
}
