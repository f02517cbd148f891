package main

import (
	"fmt"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"troupe/host"
	"troupe/internal/cli"
	"troupe/internal/cli/connect"
	"troupe/internal/cli/flags"
	"troupe/internal/cli/out"
	"troupe/messages"
)

func screenCommand(m *cli.Main) *cobra.Command {
	cmd := &cobra.Command{
		Use: "screen [flags] JOB", Short: "Print the screen of a job's terminal", Args: flags.OneJob, ValidArgsFunction: connect.JobIDs(m, true, 1),
		Long: `Print the text on the screen of a job's terminal, without blank lines at the end.
--json adds the size, the cursor, the title and the modes. For a job that has ended,
it is the last screen.`,
		Example: "  troupe screen j7",
	}
	connect.InScope(cmd, 1)
	return connect.NewCommand(m, cmd, nil, func(a *connect.Command) error {
		s, err := host.Ask(a.Ctx, a.Host(), messages.ReadScreen{Job: messages.JobID(a.Args[0])})
		switch {
		case err != nil:
			return err
		case a.JSON:
			return a.Object(s)
		}
		if s.At < s.Bytes {
			a.PrintError(fmt.Errorf("the screen lags the output by %s; the job prints faster than troupe draws", humanize.IBytes(uint64(s.Bytes-s.At))))
		}
		_, err = a.Main.Out.WriteString(screenText(s.Lines))
		return err
	})
}

// screenText renders a screen as text, without the blank lines at its end.
func screenText(lines []string) string {
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(out.Clean(line) + "\n")
	}
	text := strings.TrimRight(b.String(), "\n")
	if text == "" {
		return ""
	}
	return text + "\n"
}
