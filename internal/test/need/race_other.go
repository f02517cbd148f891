//go:build !race

package need

// Race says that the race detector is in this program, which takes several times the memory.
const Race = false
