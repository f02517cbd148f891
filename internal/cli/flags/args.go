package flags

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"troupe/internal/cli/out"
	"troupe/messages"
)

// NoArgs rejects all arguments.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	err := messages.Invalid("arguments", fmt.Sprintf("%s takes no arguments, but got %q", cmd.CommandPath(), args[0]))
	err.Hint = "see " + cmd.CommandPath() + " --help"
	return err
}

// SomeJobs requires at least one job.
func SomeJobs(cmd *cobra.Command, args []string) error { return atLeast(cmd, args, 1, "JOB") }

// OneJob requires exactly one job.
func OneJob(cmd *cobra.Command, args []string) error { return Exactly(cmd, args, "JOB") }

// Exactly requires one argument for each name.
func Exactly(cmd *cobra.Command, args []string, names ...string) error {
	if len(args) > len(names) {
		err := messages.Invalid("arguments", cmd.CommandPath()+" takes "+strings.Join(names, " ")+", but also got "+out.Quoted(args[len(names)]))
		err.Hint = "see " + cmd.CommandPath() + " --help"
		return err
	}
	return atLeast(cmd, args, len(names), names...)
}

func atLeast(cmd *cobra.Command, args []string, n int, names ...string) error {
	for i, arg := range args {
		if arg == "" {
			return messages.Invalid("arguments", "argument "+strconv.Itoa(i+1)+" of "+cmd.CommandPath()+" is empty")
		}
	}
	if len(args) >= n {
		return nil
	}
	err := messages.Invalid("arguments", cmd.CommandPath()+" needs "+strings.Join(names[len(args):], " and "))
	lists := map[string]string{"JOB": "troupe ps -a lists the jobs; ", "SESSION": "troupe sessions lists the sessions; "}
	err.Hint = lists[names[len(args)]] + "see " + cmd.CommandPath() + " --help"
	return err
}
