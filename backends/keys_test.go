package backends

import (
	"testing"

	"troupe/internal/test/keys"
)

func TestKeysOfShellMeta(t *testing.T) { keys.Check(t, shellMeta{}) }
