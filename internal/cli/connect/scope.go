package connect

import (
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"troupe/messages"
)

// scopeFlag names the scope of a verb's jobs.
const scopeFlag = "scope"

// jobArgs is the annotation of scopeFlag that has the number of arguments that are jobs.
const jobArgs = "troupe_job_arguments"

// InScope lets a verb look for its jobs at and below a scope. Its first jobs arguments are
// jobs; 0: all of them are. A verb with a flag --scope of its own keeps it.
func InScope(cmd *cobra.Command, jobs int) {
	set := cmd.Flags()
	if set.Lookup(scopeFlag) == nil {
		set.String(scopeFlag, "", "look for the job at and below the scope `PATH`")
	}
	_ = set.SetAnnotation(scopeFlag, jobArgs, []string{strconv.Itoa(jobs)})
}

// JobArgs puts the scope before the arguments that are jobs, as SCOPE/JOB.
func JobArgs(cmd *cobra.Command, args []string) ([]string, error) {
	flag := cmd.Flags().Lookup(scopeFlag)
	if flag == nil || !flag.Changed || len(flag.Annotations[jobArgs]) == 0 {
		return args, nil
	}
	scope := flag.Value.String()
	if err := messages.ScopePath(scope).Check(); err != nil {
		return nil, err
	}
	if PIDFileOf(cmd) != "" {
		return nil, messages.Invalid("arguments", "--pid-file and --scope contradict each other; give one of them")
	}
	jobs, _ := strconv.Atoi(flag.Annotations[jobArgs][0])
	if jobs == 0 {
		jobs = len(args)
	}
	args = slices.Clone(args)
	for i, job := range args[:min(jobs, len(args))] {
		args[i] = scope + "/" + job
	}
	return args, nil
}
