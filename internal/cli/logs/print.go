package logs

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"troupe/client"
	"troupe/host"
	"troupe/internal/cli/connect"
	"troupe/internal/cli/flags"
	"troupe/internal/cli/out"
	"troupe/internal/cli/terminal"
	"troupe/messages"
)

// Flags holds the flags of logs.
type Flags struct {
	Follow, Raw, Times, Cast             bool
	news                                 bool // only output from now on: -f -n 0
	Lines, Offset, Limit, First, Context int64
	Stream, SinceText, Scope, Grep       string
	since                                time.Time
}

// Check rejects flags that contradict each other or show nothing.
func (f *Flags) Check(given func(string) bool, asJSON bool) error {
	lines := given("lines") || given("tail")
	f.news = f.Follow && lines && f.Lines == 0
	if err := f.checkCast(given, asJSON); err != nil {
		return err
	}
	if err := f.checkGrep(given); err != nil {
		return err
	}
	for _, of := range []struct {
		name  string
		lines int64
	}{{"lines", f.Lines}, {"offset", f.Offset}, {"limit", f.Limit}, {"head", f.First}} {
		if (given(of.name) || of.name == "lines" && lines) && of.lines < 1 && !(f.news && of.name == "lines") {
			return messages.Invalid(of.name, fmt.Sprintf("--%s %d shows nothing; use a number from 1", of.name, of.lines))
		}
	}
	views := 0
	for _, is := range []bool{lines, given("head"), given("offset") || given("limit"), given("since")} {
		if is {
			views++
		}
	}
	switch {
	case given("stream") && f.Stream != "merged" && f.Stream != "stdout" && f.Stream != "stderr":
		return messages.Invalid("stream", "invalid --stream "+out.Quoted(f.Stream)+": use merged, stdout or stderr")
	case views > 1:
		return messages.Invalid("view", "-n, --head, --since, and --offset with --limit contradict each other; give one of them")
	case f.Follow && (given("head") || given("limit")):
		return messages.Invalid("follow", "-f and --head or --limit contradict each other: -f follows the output to its end; give one of them")
	case f.Follow && asJSON:
		return messages.Invalid("follow", "--json and -f contradict each other: --json prints one page of the output; give one of them")
	case given("since") && asJSON:
		return messages.Invalid("since", "--json and --since contradict each other: --json prints a page of numbered lines; give one of them")
	case f.Times && asJSON && f.Grep == "":
		return messages.Invalid("timestamps", "--json and -t contradict each other: --json prints a page of text; with --grep it has the times")
	case given("since"):
		return f.moment(time.Now())
	}
	return nil
}

// moment parses --since like docker: a duration ago, or a time. A time without a zone is
// local, as other verbs print times.
func (f *Flags) moment(now time.Time) error {
	if flags.IsSeconds(f.SinceText) && f.SinceText[0] != '-' { // docker reads a number as a Unix time
		e := messages.Invalid("since", "--since "+out.Quoted(f.SinceText)+" is ambiguous: it could be seconds or a time")
		e.Hint = fmt.Sprintf("use %ss for %s seconds ago, or a time such as 2026-01-02T15:04:05Z", f.SinceText, f.SinceText)
		return e
	}
	if d, err := time.ParseDuration(f.SinceText); err == nil && d >= 0 && d <= messages.MaxDuration {
		f.since = now.Add(-d)
		return nil
	}
	for _, form := range []string{time.RFC3339, "2006-01-02T15:04:05", time.DateTime, time.DateOnly} {
		at, err := time.ParseInLocation(form, f.SinceText, time.Local)
		if err == nil {
			f.since = at
			return nil
		}
	}
	e := messages.Invalid("since", "invalid --since "+out.Quoted(f.SinceText))
	e.Hint = "use a duration such as 90s or 10m, or a time such as 2026-01-02T15:04:05Z or '2026-01-02 15:04:05'"
	return e
}

// Print prints the part of the output of each job that the flags select.
func Print(a *connect.Command, f *Flags) error {
	if f.Cast && len(a.Args) != 1 {
		return messages.Invalid("cast", fmt.Sprintf("--cast prints one job, but %d are named; name one job", len(a.Args)))
	}
	all, err := f.sources(a)
	switch {
	case err != nil:
		return err
	case a.JSON && len(all) != 1:
		return messages.Invalid("json", fmt.Sprintf("--json prints one page of one job, but the arguments name %d; name one job", len(all)))
	case a.JSON:
		return showPage(a, f, all[0])
	case len(a.Args) == 1:
		return show(a, f, all[0], terminal.NewPrinter(a.Main))
	}
	return showAll(a, f, all, terminal.NewPrinter(a.Main))
}

// show prints one job.
func show(a *connect.Command, f *Flags, j source, s *terminal.Printer) (err error) {
	var printers []*Printer
	for _, stream := range j.streams {
		to := &s.Out
		if stream == messages.Stderr && len(j.streams) > 1 {
			to = &s.Err
		}
		printers = append(printers, newPrinter(a, f, j, stream, to))
	}
	switch {
	case f.Cast:
		return printCast(a, j, printers, &s.Out)
	case f.Grep != "":
		return search(printers, s)
	case len(printers) == 2 && f.First == 0 && f.Limit == 0:
		err = showBoth(printers[0], printers[1])
	default:
		for _, r := range printers {
			err = errors.Join(err, r.print())
		}
	}
	for _, r := range printers {
		err = errors.Join(err, r.end())
	}
	if f.Follow && (err == nil || errors.Is(err, connect.DaemonLeft) || errors.Is(err, outputLost)) {
		return followedEnd(a, j.uid, err)
	}
	return err
}

// outputLost is the error of an output of which nothing is left.
var outputLost = &messages.Error{Code: messages.OutputUnavailable, Reason: "lost"}

// lostPatience bounds the wait for the end of a job after that of its output. A job that
// lives longer has closed its output itself.
const lostPatience = time.Second

// followedEnd returns the error of a follow whose output ended with err. For a lost job,
// whose later output is unknown, it returns that of an exit as lost.
func followedEnd(a *connect.Command, id messages.JobID, err error) error {
	end, problem := host.Ask(a.Ctx, a.Host(), messages.WaitJobs{Jobs: []messages.JobID{id}, Timeout: lostPatience})
	if problem != nil || len(end.Jobs) != 1 || end.Jobs[0].End.Outcome != messages.Lost {
		return err
	}
	return connect.ExitAs(a, end.Jobs[0])
}

// showBoth prints two streams in the order in which they were written.
func showBoth(stdout, stderr *Printer) error {
	what := client.RangeBoth{From: map[messages.Stream]int64{}, Since: stdout.flags.since, Follow: stdout.flags.Follow, Times: stdout.flags.Times}
	for _, r := range []*Printer{stdout, stderr} {
		at, err := r.startOffset()
		if err != nil {
			return err
		}
		what.From[r.stream] = at
	}
	return showArrived(what, stdout, stderr)
}

// showArrived prints streams in the order in which they were written, with their times if the
// flags say so.
func showArrived(what client.RangeBoth, printers ...*Printer) error {
	of := map[messages.Stream]*Printer{}
	for _, r := range printers {
		of[r.stream] = r
	}
	first := printers[0]
	gaps, problem := first.OutputBoth(first.Ctx, first.job, what, func(part client.Arrived) error {
		r := of[part.Stream]
		if r == nil {
			return fmt.Errorf("the daemon sent an unknown stream %d", part.Stream)
		}
		if r.lines != nil {
			r.lines.at = part.At
		}
		if werr := r.write(part.Bytes, false); werr != nil {
			return &out.OutputError{Err: werr}
		}
		return nil
	})
	for _, r := range printers {
		if werr := r.write(nil, true); werr != nil && problem == nil {
			problem = &out.OutputError{Err: werr}
		}
	}
	if problem != nil {
		return leftEarly(problem)
	}
	first.PrintGaps(gaps)
	return nil
}

// leftEarly describes a connection that broke in the middle of the output. It returns coded
// errors and failed writes unchanged.
func leftEarly(err error) error {
	var coded *messages.Error
	var ours *out.OutputError
	if errors.As(err, &coded) || errors.As(err, &ours) {
		return err
	}
	left := connect.BrokenOff(err)
	left.Message += "; the output is incomplete"
	return left
}

// streams returns the streams to print.
func (f *Flags) streams(job messages.Record) ([]messages.Stream, error) {
	var all []messages.Stream
	for _, out := range job.Output {
		if out.Stream.String() == f.Stream {
			return []messages.Stream{out.Stream}, nil
		}
		all = append(all, out.Stream)
	}
	if f.Stream != "" || len(all) == 0 {
		return nil, messages.Invalid("stream", fmt.Sprintf("job %s has no stream %q; it has %s", job.ID, f.Stream, streamNames(all)))
	}
	return all, nil
}

func streamNames(streams []messages.Stream) string {
	var names []string
	for _, s := range streams {
		names = append(names, s.String())
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, " and ")
}

// view returns the view of a stream that the flags select.
func (f *Flags) view() messages.View {
	v := messages.View{Kind: messages.ViewTail, Bytes: messages.MaxViewBytes}
	switch {
	case f.Grep != "":
		v.Kind, v.Pattern, v.Context, v.Times = messages.ViewMatches, f.Grep, int(f.Context), f.Times
	case f.Lines > 0:
		v.Kind, v.Lines = messages.ViewTailLine, int(f.Lines)
	case f.First > 0:
		v.Kind, v.Offset, v.Lines = messages.ViewPage, 1, int(f.First)
	case f.Offset > 0 || f.Limit > 0:
		v.Kind, v.Offset, v.Lines = messages.ViewPage, max(f.Offset, 1), int(max(f.Limit, 1)) // without a limit, one line: its first byte is looked for
	}
	return v
}
