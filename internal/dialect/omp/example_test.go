package omp_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"troupe/backends/disk"
	"troupe/internal/dialect/omp"
	"troupe/internal/node"
	"troupe/messages"
)

// A host gives each of its agents a session: the tools of that system, over a node.
func Example() {
	ctx := context.Background()
	node, err := node.Open(ctx, node.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	var beside sync.WaitGroup
	agent := omp.New(omp.Options{
		Host: node.DialectHost(), Beside: &beside, FS: disk.Files{}, Dir: os.TempDir(), Env: os.Environ(), SessionID: "agent-1", Settings: omp.DefaultSettings(),
	})

	for _, command := range []string{"A=kept", "echo $A; exit 3"} {
		result, err := agent.Bash(ctx, omp.Params{Command: command}, nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		output, _, _ := strings.Cut(result.Text, "\n\nWall time: ")
		_, end, _ := strings.Cut(result.Text, " seconds\n\n")
		fmt.Println(output, end, result.IsError)
	}
	err = agent.Close(ctx)
	beside.Wait()
	if err := errors.Join(err, node.Shutdown(ctx, messages.ShutdownNode{})); err != nil {
		fmt.Println(err)
	}
	// Output:
	// (no output)  false
	// kept Command exited with code 3 true
}
