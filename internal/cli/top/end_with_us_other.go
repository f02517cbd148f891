//go:build !linux

package top

import "os/exec"

// endWithUs does nothing: elsewhere a verb outlives a killed troupe top.
func endWithUs(*exec.Cmd) {}
