package supervision_test

import (
	"go/ast"
	"slices"
	"strings"
)

// protoactor is the actor library; most of it is closed to us (see mayImport).
const protoactor = "github.com/asynkron/protoactor-go"

// notOfTheLibrary are the names of the actor library that were measured and
// found wanting, each with what to do instead.
var notOfTheLibrary = map[string]string{
	"Stash":                           "it is last in, first out and loses the sender: keep a slice of pending requests",
	"SetReceiveTimeout":               "it changes the actor from a timer's goroutine: use scheduler.SendOnce and a generation",
	"CancelReceiveTimeout":            "see SetReceiveTimeout",
	"Bounded":                         "a full mailbox spins its senders: count admission in the supervisor",
	"BoundedDropping":                 "it can spin for ever: count admission in the supervisor",
	"MessageBatch":                    "items and batch are both delivered: send them one by one",
	"NewExponentialBackoffStrategy":   "it is linear, uncapped and suspends the mailbox: back off by a timer message",
	"NewAllForOneStrategy":            "in a guardian it ends the process: use one-for-one",
	"NewRestartingStrategy":           "it has no limit: use one-for-one with a window",
	"DefaultSupervisorStrategy":       "it restarts, and a command would run twice: name the strategy",
	"RestartingSupervisorStrategy":    "it has no limit: use one-for-one with a window",
	"EscalateDirective":               "it can reach the guardian and end the process: decide here",
	"EscalateFailure":                 "it can reach the guardian and end the process: decide here",
	"WithDefaultPrometheusProvider":   "it listens on a port and costs six times a send",
	"WithMetricProviders":             "its metrics cost six times a send: count our own",
	"WithDeveloperSupervisionLogging": "it prints: log through the logger",
	"PropsFromFunc":                   "one closure is shared over restarts: use PropsFromProducer",
	"PoisonFuture":                    "its deadline is fixed at 10 s: the parent stops the child and hears Terminated",
	"StopFuture":                      "its deadline is fixed at 10 s: the parent stops the child and hears Terminated",
	"Forward":                         "the envelope is the mailbox's own: send the message anew, with its sender",
	"PipeTo":                          "answers have no correlation: tell, with an id",
}

// checkLibrary holds the rules of protoactor-go that a name gives away.
func checkLibrary(f *houseFile) []string {
	user := slices.ContainsFunc(f.imports(), func(path string) bool { return under(path, protoactor) })
	if f.test || !user {
		return nil
	}
	var wrong []string
	f.selectors(func(s *ast.SelectorExpr) {
		if f.folder == "" && s.Sel.Name == "StopFuture" {
			return // the one wait at the top, behind the ordered shutdown
		}
		if f.path == "actors/workers/mailbox.go" && s.Sel.Name == "EscalateFailure" {
			return // a mailbox hands every failure to its actor's context: the parents decide
		}
		if why, no := notOfTheLibrary[s.Sel.Name]; no {
			wrong = append(wrong, f.at(s, "%s of the actor library: %s", s.Sel.Name, why))
		}
	})
	for _, window := range bareWindows(f) {
		wrong = append(wrong, f.at(window, "a bare number is nanoseconds: name the window, with its unit and reason"))
	}
	return wrong
}

// bareWindows finds strategies whose window is a number without a unit.
func bareWindows(f *houseFile) []ast.Node {
	var bare []ast.Node
	ast.Inspect(f.ast, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) < 2 {
			return true
		}
		s, ok := call.Fun.(*ast.SelectorExpr)
		if _, number := call.Args[1].(*ast.BasicLit); ok && number && s.Sel.Name == "NewOneForOneStrategy" {
			bare = append(bare, call.Args[1])
		}
		return true
	})
	return bare
}

// checkProps: the library's default strategy restarts, so each Props names its
// own; and a panic in a stopping actor hangs its parent unless a guard is there.
// Both must be said in the declaration that makes the Props.
func checkProps(f *houseFile) []string {
	if f.test || f.importName(actorLib) == "" {
		return nil
	}
	wrong := strayStrategies(f)
	for _, decl := range f.ast.Decls {
		var missing []string
		for _, option := range []string{"WithSupervisor", "WithReceiverMiddleware"} {
			if mentions(f, decl, "PropsFromProducer", "PropsFromProducerWithActorSystem") && !mentions(f, decl, option) {
				missing = append(missing, option)
			}
		}
		if len(missing) > 0 {
			wrong = append(wrong, f.at(decl, "Props without %s", strings.Join(missing, " and ")))
		}
	}
	return wrong
}

// strayStrategies finds what decides about failures elsewhere than on the one
// page where all of it can be read together.
func strayStrategies(f *houseFile) []string {
	if f.path == "actors/strategies.go" {
		return nil
	}
	var wrong []string
	for _, s := range f.uses(actorLib, "NewOneForOneStrategy") {
		wrong = append(wrong, f.at(s, "a strategy outside actors/strategies.go"))
	}
	for _, decl := range f.ast.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv != nil && fn.Name.Name == "HandleFailure" {
			wrong = append(wrong, f.at(fn, "a strategy outside actors/strategies.go"))
		}
	}
	return wrong
}

// mentions says whether a declaration uses one of the names of the actor library.
func mentions(f *houseFile, n ast.Node, names ...string) bool {
	return slices.ContainsFunc(f.uses(actorLib, names...), func(s *ast.SelectorExpr) bool {
		return n.Pos() <= s.Pos() && s.End() <= n.End()
	})
}
