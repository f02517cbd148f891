//go:build 386 || arm || mips || mipsle

package troupe

// The registry of the actor library takes a hash for an index, which is negative half
// the time where words have 32 bits (protoactor-go, process_registry.go): no node would
// start. This does not compile, so that it is known before.
var _ = troupe_needs_a_platform_with_64_bit_words
