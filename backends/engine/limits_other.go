//go:build !linux

package engine

import "troupe/messages"

// OwnLimits returns no limits: a job cannot have its own here.
func OwnLimits() messages.Limits { return messages.Limits{} }
