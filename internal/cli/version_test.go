package cli

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

// The linker's words come before those of the go command. A version of a commit without a tag
// has its commit and time.
func TestTheBuildKnowsItsCommit(t *testing.T) {
	t.Parallel()
	checkout := []debug.BuildSetting{
		{Key: "vcs.revision", Value: "0123456789abcdef0123456789abcdef01234567"}, {Key: "vcs.time", Value: "2026-01-02T03:04:05Z"}, {Key: "vcs.modified", Value: "true"},
	}
	for name, c := range map[string]struct {
		linked   Build
		version  string
		settings []debug.BuildSetting
		want     Build
	}{
		"make build":          {Build{Version: "v1.2.3", Commit: "c", Date: "d"}, "(devel)", nil, Build{Version: "v1.2.3", Commit: "c", Date: "d"}},
		"a checkout":          {Build{Version: "v1.2.3"}, "(devel)", checkout, Build{Version: "v1.2.3", Commit: checkout[0].Value, Date: "2026-01-02T03:04:05Z", Dirty: true}},
		"a tag":               {Build{}, "v0.1.0", nil, Build{Version: "v0.1.0"}},
		"a tag of a long one": {Build{}, "v0.1.0-rc.1-with-more", nil, Build{Version: "v0.1.0-rc.1-with-more"}},
		"no tag before":       {Build{}, "v0.0.0-20260102030405-0123456789ab", nil, Build{Version: "v0.0.0-20260102030405-0123456789ab", Commit: "0123456789ab", Date: "2026-01-02T03:04:05Z"}},
		"after a tag":         {Build{}, "v1.2.4-0.20260102030405-0123456789ab+dirty", nil, Build{Version: "v1.2.4-0.20260102030405-0123456789ab+dirty", Commit: "0123456789ab", Date: "2026-01-02T03:04:05Z"}},
		"a month 13":          {Build{}, "v0.0.0-20261302030405-0123456789ab", nil, Build{Version: "v0.0.0-20261302030405-0123456789ab"}},
		"nothing":             {Build{}, "", nil, Build{}},
	} {
		got := c.linked
		got.record(&debug.BuildInfo{Main: debug.Module{Version: c.version}, Settings: c.settings})
		require.Equal(t, c.want, got, name)
	}
}
