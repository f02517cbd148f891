package actors

import (
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/messages"
)

// The terms of a request are those of the one before only if they are the same.
func TestTermsAreSharedWhereTheyAreTheSame(t *testing.T) {
	of := &messages.RunCommand{Text: "one", Grace: 1, Background: true}
	first := termsOf(of, nil)
	require.Same(t, first, termsOf(&messages.RunCommand{Text: "two", Grace: 1, Background: true}, first))
	for _, other := range []messages.RunCommand{
		{Grace: 2, Background: true},
		{Grace: 1},
		{Grace: 1, Background: true, PromoteAfter: 1},
		{Grace: 1, Background: true, Shell: "dash"},
		{Grace: 1, Background: true, Dir: "/"},
		{Grace: 1, Background: true, Shown: true},
		{Grace: 1, Background: true, OnExit: messages.KeepChildren},
		{Grace: 1, Background: true, Open: &messages.SessionPlan{}},
	} {
		got := termsOf(&other, first)
		require.NotSame(t, first, got)
		require.Equal(t, termsOf(&other, nil), got)
	}
}
