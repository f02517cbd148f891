//go:build !race

package need

// Race reports whether this program has the race detector, which multiplies the memory
// it needs.
const Race = false
