//go:build 386 || arm || mips || mipsle

package troupe

// arch64Only does not compile. With words of 32 bits no node could start: the actor library
// takes a hash as an index, which would be negative half the time.
const arch64Only = troupe_needs_a_platform_with_64_bit_words
