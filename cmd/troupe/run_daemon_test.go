package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A client that may open nothing more has not lost its daemon.
func TestAClientWithoutDescriptorsSaysSo(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	const want = "too many open files (raise the limit of open files"
	said := ""
	for round := 0; round < 20 && !strings.Contains(said, want); round++ { // what is open at once varies
		for n := 7; n < 12; n++ { // three are its own, some the runtime's
			for _, verb := range []string{"ps", "run 'echo up'"} {
				p := d.beside().bash(fmt.Sprintf("ulimit -n %d; troupe %s", n, verb)).start()
				p.rest()
				<-p.ended
				require.NotContains(t, p.err.String(), "the connection to the daemon broke", "%d for %s", n, verb)
				said += p.err.String()
			}
		}
	}
	require.Contains(t, said, want)
}
