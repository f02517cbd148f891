//go:build !linux

// Bench compares troupe with raw Linux; elsewhere there is nothing to run.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "bench: its raw sides are Linux's (cgroups, pidfd, splice); run it there, beside", scenarioNames())
}
