package api

import (
	"reflect"
	"slices"
	"sync"

	"troupe/messages"
)

// enums are the values of types of which there is a closed set. A test compares them with the
// constants.
var enums = sync.OnceValue(func() map[reflect.Type][]string {
	return map[reflect.Type][]string{
		reflect.TypeFor[messages.Stream]():        {"merged", "stdout", "stderr", "both"},
		reflect.TypeFor[messages.Outcome]():       {"exited", "signaled", "timed_out", "cancelled", "failed_to_start", "lost"},
		reflect.TypeFor[messages.State]():         {"queued", "starting", "running", "stopping", "draining", "finished"},
		reflect.TypeFor[messages.Mode]():          {"sync", "async", "detached"},
		reflect.TypeFor[messages.Party]():         {"client", "deadline", "idle", "scope", "shutdown", "quota", "system"},
		reflect.TypeFor[messages.NoticeState]():   {"pending", "delivered", "given_up"},
		reflect.TypeFor[messages.Protocol]():      {"tcp", "udp"},
		reflect.TypeFor[messages.Awaiting]():      {"nothing", "input", "secret"},
		reflect.TypeFor[messages.Isolation]():     {"cgroup", "subreaper", "group"},
		reflect.TypeFor[messages.ConditionKind](): {"exit", "pattern", "port", "quiet", "input", "blocked"},
		reflect.TypeFor[messages.EnvPolicy]():     {"caller", "allow", "agent", "clean"},
		reflect.TypeFor[messages.StreamMode]():    {"merged", "separate"},
		reflect.TypeFor[messages.StdinMode]():     {"null", "pipe"},
		reflect.TypeFor[messages.OnExit]():        {"adopt", "keep", "kill"},
		reflect.TypeFor[messages.EndReason]():     {"stopped", "completed", "error", "auto-cleanup"},
		reflect.TypeFor[messages.SnapshotUse]():   {"used", "failed"},
	}
})

// Values returns the closed set of values of a type, which clients may show.
func Values(of any) []string { return slices.Clone(enums()[reflect.TypeOf(of)]) }

var (
	backends  = []string{messages.BackendPipe, messages.BackendPTY, messages.BackendShell, messages.BackendShellPTY}
	oneStream = []string{"merged", "stdout", "stderr"}
)

// fieldEnums are the values of texts of which there is a closed set, by type and name.
var fieldEnums = sync.OnceValue(func() map[string][]string {
	return map[string][]string{
		"Record.backend": backends, "SessionPlan.backend": backends, "OpenSession.backend": backends, "SessionInfo.backend": backends, "SessionEnd.backend": backends,
		"RunCommand.durability": {"memory", "os-crash", "fsync-on-exit"},
		"Quota.policy":          {"elide", "keep_head", "pause", "kill"},
		"Condition.stream":      oneStream,
		"AttachEvent.stream":    oneStream,
		"AttachEvent.type":      {AttachHello, AttachGap, AttachLease, AttachAsked, AttachWritten, AttachFailed, AttachAnswers, AttachEnded},
		"AttachEvent.reason":    {LeaseGranted, LeaseTaken, LeaseRefused, LeaseYielded},
		"AttachRequest.type":    {AttachCloseInput, AttachResize, AttachRepaint, AttachAsk, AttachTake, AttachYield, AttachRefuse},
		"Event.event":           eventKinds(),
	}
})
