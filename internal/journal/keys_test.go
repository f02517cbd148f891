package journal_test

import (
	"testing"

	"troupe/internal/journal"
	"troupe/internal/test/keys"
)

func TestKeysOfRecords(t *testing.T) { keys.Check(t, journal.Records()...) }
