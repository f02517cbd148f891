package wire

import (
	"troupe/internal/api"
	"troupe/messages"
)

// Former names of types.
type (
	About          = api.About
	Acknowledged   = messages.Acknowledged
	AttachEvent    = api.AttachEvent
	AttachRequest  = api.AttachRequest
	Closed         = messages.ScopeClosed
	Cursor         = messages.Cursor
	ErrorBody      = api.ErrorBody
	Event          = api.Event
	JobList        = messages.JobList
	Page           = messages.OutputPage
	Result         = api.Result
	Scope          = messages.ScopeInfo
	ScopeList      = messages.ScopeList
	ScopeQuota     = messages.ScopeQuota
	Screen         = messages.ScreenText
	Shown          = api.Shown
	ShutdownResult = messages.ShutdownDone
	Stats          = api.Stats
	Stopped        = messages.CommandStopped
	WaitResult     = messages.WaitEnded
	Written        = messages.InputWritten
)

// Former names of values.
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
	CommandNotified  = api.CommandNotified
	FactsDropped     = api.FactsDropped
	LeaseGranted     = api.LeaseGranted
	LeaseRefused     = api.LeaseRefused
	LeaseTaken       = api.LeaseTaken
	MaxAttachInput   = api.MaxAttachInput
)

// Version is the field "v" of every object.
var Version messages.Version

// NewSessionList returns a list in which no list is nil.
func NewSessionList(list messages.SessionList) messages.SessionList {
	list.Sessions, list.Recent = List(list.Sessions), List(list.Recent)
	return list
}

// List returns v, which is never null in JSON.
func List[T any](v []T) []T {
	if v == nil {
		return []T{}
	}
	return v
}
