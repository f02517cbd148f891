package wire

import (
	"troupe/internal/api"
	"troupe/messages"
)

// Types of package api.
type (
	AttachEvent   = api.AttachEvent
	AttachRequest = api.AttachRequest
	Event         = api.Event
	SessionEvent  = api.SessionEvent
	ScopeEvent    = api.ScopeEvent
)

// Values of package api.
const (
	AttachAnswers    = api.AttachAnswers
	AttachAsk        = api.AttachAsk
	AttachAsked      = api.AttachAsked
	AttachCloseInput = api.AttachCloseInput
	AttachEnded      = api.AttachEnded
	AttachFailed     = api.AttachFailed
	AttachGap        = api.AttachGap
	AttachHello      = api.AttachHello
	AttachLease      = api.AttachLease
	AttachRefuse     = api.AttachRefuse
	AttachRepaint    = api.AttachRepaint
	AttachResize     = api.AttachResize
	AttachTake       = api.AttachTake
	AttachWritten    = api.AttachWritten
	AttachYield      = api.AttachYield
	LeaseGranted     = api.LeaseGranted
	LeaseRefused     = api.LeaseRefused
	LeaseTaken       = api.LeaseTaken
	LeaseYielded     = api.LeaseYielded
	MaxAttachInput   = api.MaxAttachInput

	CommandNotified = api.CommandNotified
	SessionOpened   = api.SessionOpened
	SessionReplaced = api.SessionReplaced
	SessionClosed   = api.SessionClosed
	ScopeOpened     = api.ScopeOpened
	ScopeClosed     = api.ScopeClosed
	FactsDropped    = api.FactsDropped
	StreamEnded     = api.StreamEnded
)

// Decode reads one JSON object into a request, as api.Decode does.
func Decode(body []byte, into any) *messages.Error { return api.Decode(body, into) }

// NewEvent returns the event of a fact, as api.NewEvent does.
func NewEvent(seq messages.Seq, fact messages.Fact) (Event, error) { return api.NewEvent(seq, fact) }
