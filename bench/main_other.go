//go:build !linux

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "bench: its raw sides are Linux's (cgroups, pidfd, splice); run it there, beside", scenarioNames())
}
