package shelltext

import (
	"fmt"
	"slices"
)

// Protected are the processes that no command may end.
type Protected struct {
	Self      int   // our own
	Ancestors []int // those that started it
}

// KillReason is why a command is not executed.
type KillReason string

const (
	GateProgram   KillReason = "program"   // Name ends processes by their name
	GateUsage     KillReason = "usage"     // kill without a number
	GateSelf      KillReason = "self"      // PID is our own process, or all of them
	GateAncestor  KillReason = "ancestor"  // PID started our own
	GateExpansion KillReason = "expansion" // Name is a pattern that hides what is run
)

// KillBlocked says why a command is not executed, to models and to programs.
type KillBlocked struct {
	Reason KillReason
	Name   string
	PID    int
}

func (e *KillBlocked) Error() string {
	switch e.Reason {
	case GateProgram:
		return fmt.Sprintf(textGateProgram, e.Name)
	case GateSelf:
		return fmt.Sprintf(textGateSelf, e.PID)
	case GateAncestor:
		return fmt.Sprintf(textGateAncestor, e.PID)
	case GateExpansion:
		return fmt.Sprintf(textGateExpansion, e.Name)
	}
	return textGateUsage
}

// CheckKills is nil for a command that may be executed, else a *KillBlocked. It looks at
// what is run, behind `sudo`, `xargs` and the like too, in substitutions, loops and literal
// texts for a shell; not at what is quoted, a here-document or an argument
// of another program. It keeps models from accidents; it is no wall, since what a
// variable or a script runs is not seen.
//
// A text that cannot be parsed is judged by its words, quotes left out; of one
// above 256 KiB, what is behind is not looked at.
func CheckKills(text string, pids Protected) error {
	script, err := Parse(text)
	if err != nil {
		return checkWords(text, pids)
	}
	for _, s := range append([]*Script{script}, innerScripts(script, runText)...) {
		for _, c := range s.Commands {
			if err := pids.check(c.Words); err != nil {
				return err
			}
			if built := s.builtCommand(c); built != "" {
				return &KillBlocked{Reason: GateExpansion, Name: shortened(built)}
			}
		}
		if hidden := s.hiddenExpansion(); hidden != "" {
			return &KillBlocked{Reason: GateExpansion, Name: shortened(hidden)}
		}
	}
	return nil
}

// check judges one simple command. Its error is a nil interface if there is none.
func (p Protected) check(words []Word) error {
	switch words = withoutWrappers(words); baseName(words) {
	case "pkill", "killall":
		return &KillBlocked{Reason: GateProgram, Name: baseName(words)}
	case "kill":
		pids, listing := killTargets(words[1:])
		if listing {
			return nil
		}
		if len(pids) == 0 {
			return &KillBlocked{Reason: GateUsage}
		}
		for _, pid := range pids {
			if err := p.target(pid); err != nil {
				return err
			}
		}
	}
	return nil
}

// target judges what kill is given; a negative number is a process group, which
// bears the number of the process that leads it, and -1 is all there are.
func (p Protected) target(pid int) error {
	of := max(pid, -pid)
	switch {
	case pid == -1 || of == p.Self && of != 0:
		return &KillBlocked{Reason: GateSelf, PID: pid}
	case of != 0 && slices.Contains(p.Ancestors, of):
		return &KillBlocked{Reason: GateAncestor, PID: pid}
	}
	return nil
}

// maxPattern bounds the pattern that an error names, in bytes.
const maxPattern = 80

func shortened(pattern string) string {
	if len(pattern) <= maxPattern {
		return pattern
	}
	return pattern[:maxPattern] + "..."
}
