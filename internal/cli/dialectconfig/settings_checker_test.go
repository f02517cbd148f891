package dialectconfig

import (
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/cli/config"
)

// So is of several settings that cannot be.
func TestSettingsTellTheFirstFault(t *testing.T) {
	t.Parallel()
	for range 100 {
		c := &settingsChecker{}
		c.omp(&config.OMPSettings{Skills: []string{"a"}, Agents: []string{"b"}, Plans: []string{"c"}, Memories: []string{"d"}})
		require.ErrorContains(t, c.err, "omp.skills")
	}
}
