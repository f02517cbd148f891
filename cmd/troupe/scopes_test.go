package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/messages"
)

// One of something is one.
func TestQuotaText(t *testing.T) {
	t.Parallel()
	require.Equal(t, "1 job, 2 sessions", quotaText(messages.ScopeQuota{Jobs: 1, Sessions: 2}))
}
