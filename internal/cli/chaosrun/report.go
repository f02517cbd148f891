package chaosrun

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"troupe/faults"
	"troupe/host"
	"troupe/internal/cli"
	"troupe/internal/cli/inject"
	"troupe/internal/cli/out"
	"troupe/messages"
)

// jobEnd is what --json prints of a job: nothing that differs between two equal runs.
type jobEnd struct {
	Job     messages.JobID   `json:"job"`
	Name    string           `json:"name,omitempty"`
	Command string           `json:"command"`
	State   messages.State   `json:"state"`
	Outcome messages.Outcome `json:"outcome,omitempty"`
	Code    *int             `json:"exit_code,omitempty"`
	Signal  string           `json:"signal,omitempty"`
	Faults  []string         `json:"faults"`
}

// report prints the faults that happened, and how the jobs ended.
func (s *server) report(m *cli.Main, f *Flags, state string) error {
	happened, err := list(state)
	if err != nil {
		return err
	}
	c, err := s.dial()
	if err != nil {
		return err
	}
	defer c.Close()
	jobs, err := host.Ask(context.Background(), c.Host(), messages.ListJobs{Finished: true})
	if err != nil {
		return err
	}
	if f.JSON {
		return printJSON(m, happened, jobs.Jobs)
	}
	by, order := map[string]int{}, []string{}
	for _, f := range happened {
		if by[f.Rule] == 0 {
			order = append(order, f.Rule)
		}
		by[f.Rule]++
	}
	touched := 0
	for _, j := range jobs.Jobs {
		touched += min(len(j.Faults), 1)
	}
	text := fmt.Sprintf("troupe: %s touched %d of %s", out.Plural(len(happened), "fault"), touched, out.Plural(len(jobs.Jobs), "job"))
	for i, rule := range order {
		sep := ", "
		if i == 0 {
			sep = ": "
		}
		text += fmt.Sprintf("%s%s %d", sep, rule, by[rule])
	}
	_, err = fmt.Fprintln(m.Err, out.Clean(text))
	return err
}

// list reads the faults that happened, in their order.
func list(state string) (all []faults.Fault, err error) {
	b, err := os.ReadFile(filepath.Join(state, inject.ListName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for line := range bytes.Lines(b) {
		var f faults.Fault
		if err := json.Unmarshal(line, &f); err != nil {
			return all, err
		}
		all = append(all, f)
	}
	return all, err
}

func printJSON(m *cli.Main, happened []faults.Fault, jobs []messages.Record) error {
	for _, f := range happened {
		if err := out.WriteJSON(m.Out, f); err != nil {
			return err
		}
	}
	for _, j := range jobs {
		end := jobEnd{Job: j.ID, Name: j.Name, Command: j.Command, State: j.State, Outcome: j.End.Outcome, Code: j.End.Code, Signal: j.End.Signal, Faults: out.List(j.Faults)}
		if err := out.WriteJSON(m.Out, end); err != nil {
			return err
		}
	}
	return nil
}

// List prints the ready plans, one line each.
func List(m *cli.Main) error {
	var b strings.Builder
	for _, name := range faults.Ready() {
		text, err := faults.ReadyText(name)
		if err != nil {
			return err
		}
		p, err := faults.Parse(name, text)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%-16s  %s\n", name, p.About)
	}
	_, err := fmt.Fprint(m.Out, b.String())
	return err
}
