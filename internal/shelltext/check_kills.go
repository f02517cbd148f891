package shelltext

import (
	"fmt"
	"slices"
)

// Protected names the processes that no command may kill.
type Protected struct {
	Self      int   // this process
	Ancestors []int // its ancestors
}

// KillReason is why a command is not executed.
type KillReason string

const (
	GateProgram   KillReason = "program"   // Name kills processes by name
	GateUsage     KillReason = "usage"     // kill without a number
	GateSelf      KillReason = "self"      // PID is this process, or all processes
	GateAncestor  KillReason = "ancestor"  // PID is an ancestor of this process
	GateExpansion KillReason = "expansion" // Name is an expansion that hides what runs
)

// KillBlocked explains to models and programs why a command is not executed.
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

// CheckKills returns nil for a command that may run, else a *KillBlocked. It checks
// simple commands, also after `sudo`, `xargs` and the like, in substitutions, loops and
// literal texts for a shell. Quoted text, here-documents and arguments of other
// programs are not checked. It prevents accidents of models and is not a barrier: it
// does not see what a variable or a script runs.
//
// A text that cannot be parsed is checked by its words without quotes, up to 256 KiB.
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

// check checks one simple command. It returns a nil interface if the command is
// allowed.
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

// target checks one argument of kill. A negative number is the process group with that
// leader; -1 means all processes.
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

// maxPattern bounds the expansion that an error quotes, in bytes.
const maxPattern = 80

func shortened(pattern string) string {
	if len(pattern) <= maxPattern {
		return pattern
	}
	return pattern[:maxPattern] + "..."
}
