//go:build linux

package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"
)

// A static program of some 200 bytes stamps its exit: it pauses, writes CLOCK_MONOTONIC
// (two 64-bit numbers: seconds, nanoseconds) to stdout and exits. It is one thread
// without an exit handler, so the stamp is the exit. A Go program takes 100 µs more to
// end its other threads. Both sides would include that, and their ratio would look
// better than it is.

// stampSize is the length of the program's output, in bytes.
const stampSize = 16

// stampCode maps architectures to the instructions. The pause follows them, aligned to
// eight bytes.
var stampCode = map[string]struct {
	machine uint16 // of the ELF header
	code    func(pause uint32) []byte
}{
	"amd64": {62, func(pause uint32) []byte {
		return slices.Concat(
			[]byte{0xbf}, le32(pause), // mov edi, pause
			[]byte{0x31, 0xf6},               // xor esi, esi
			[]byte{0xb8, 35, 0, 0, 0},        // mov eax, nanosleep
			[]byte{0x0f, 0x05},               // syscall
			[]byte{0x48, 0x83, 0xec, 16},     // sub rsp, 16
			[]byte{0xbf, 1, 0, 0, 0},         // mov edi, CLOCK_MONOTONIC
			[]byte{0x48, 0x89, 0xe6},         // mov rsi, rsp
			[]byte{0xb8, 228, 0, 0, 0},       // mov eax, clock_gettime
			[]byte{0x0f, 0x05},               // syscall
			[]byte{0xbf, 1, 0, 0, 0},         // mov edi, stdout
			[]byte{0xba, stampSize, 0, 0, 0}, // mov edx, 16
			[]byte{0xb8, 1, 0, 0, 0},         // mov eax, write
			[]byte{0x0f, 0x05},               // syscall
			[]byte{0x31, 0xff},               // xor edi, edi
			[]byte{0xb8, 231, 0, 0, 0},       // mov eax, exit_group
			[]byte{0x0f, 0x05},               // syscall
		)
	}},
	"arm64": {183, func(pause uint32) []byte {
		return words(
			0xd2800000|(pause&0xffff)<<5, // movz x0, pause (low half)
			0xf2a00000|(pause>>16)<<5,    // movk x0, pause (high half), lsl 16
			0xd2800001,                   // mov x1, 0
			0xd2800000|101<<5|8,          // mov x8, nanosleep
			0xd4000001,                   // svc 0
			0xd10043ff,                   // sub sp, sp, 16
			0xd2800000|1<<5,              // mov x0, CLOCK_MONOTONIC
			0x910003e1,                   // mov x1, sp
			0xd2800000|113<<5|8,          // mov x8, clock_gettime
			0xd4000001,                   // svc 0
			0xd2800000|1<<5,              // mov x0, stdout
			0x910003e1,                   // mov x1, sp
			0xd2800000|stampSize<<5|2,    // mov x2, 16
			0xd2800000|64<<5|8,           // mov x8, write
			0xd4000001,                   // svc 0
			0xd2800000,                   // mov x0, 0
			0xd2800000|94<<5|8,           // mov x8, exit_group
			0xd4000001,                   // svc 0
		)
	}},
}

// Layout of the file: ELF header, one program header, code, pause.
const (
	stampBase   = 0x400000
	stampHeader = 64 + 56
)

// writeStamp writes the program with this pause.
func writeStamp(path string, pause time.Duration) error {
	arch, known := stampCode[runtime.GOARCH]
	if !known {
		return lacking{"no stamp program for " + runtime.GOARCH}
	}
	length := (len(arch.code(0)) + 7) / 8 * 8
	code := make([]byte, length)
	copy(code, arch.code(uint32(stampBase+stampHeader+length)))
	total := uint64(stampHeader + length + stampSize)
	le := binary.LittleEndian
	file := slices.Concat([]byte("\x7fELF\x02\x01\x01"), make([]byte, 9)) // 64 bits, little-endian
	file = le.AppendUint16(file, 2)                                       // an executable
	file = le.AppendUint16(file, arch.machine)
	file = le.AppendUint32(file, 1)
	for _, field := range []uint64{stampBase + stampHeader, 64, 0} { // entry, program headers, no sections
		file = le.AppendUint64(file, field)
	}
	file = le.AppendUint32(file, 0)
	for _, field := range []uint16{64, 56, 1, 0, 0, 0} { // sizes and counts of headers
		file = le.AppendUint16(file, field)
	}
	file = le.AppendUint32(file, 1) // load
	file = le.AppendUint32(file, 5) // readable, executable
	for _, field := range []uint64{0, stampBase, stampBase, total, total, 4096} {
		file = le.AppendUint64(file, field)
	}
	file = append(file, code...)
	file = le.AppendUint64(file, uint64(pause/time.Second))
	file = le.AppendUint64(file, uint64(pause%time.Second))
	return os.WriteFile(path, file, 0o755)
}

// readStamp returns the program's output in nanoseconds.
func readStamp(output []byte) (int64, error) {
	if len(output) != stampSize {
		return 0, fmt.Errorf("a stamp has %d bytes, want %d", len(output), stampSize)
	}
	seconds, nanos := binary.LittleEndian.Uint64(output), binary.LittleEndian.Uint64(output[8:])
	return int64(seconds)*int64(time.Second) + int64(nanos), nil
}

func le32(n uint32) []byte { return binary.LittleEndian.AppendUint32(nil, n) }

func words(list ...uint32) []byte {
	var out []byte
	for _, w := range list {
		out = binary.LittleEndian.AppendUint32(out, w)
	}
	return out
}
