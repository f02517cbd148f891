#include "textflag.h"

// shared is the memory of type shared. It is no Go variable: the entry must find it
// without a call.
GLOBL shared<>(SB), NOPTR, $272

// func memory() (s *shared, entry uintptr)
TEXT ·memory(SB), NOSPLIT, $0-16
	LEAQ shared<>(SB), AX
	MOVQ AX, s+0(FP)
	LEAQ entry<>(SB), AX
	MOVQ AX, entry+8(FP)
	RET

// entry is a signal handler: DI is the signal, SI the siginfo_t, DX the context. It keeps
// all registers that Go's handler expects, uses no stack and makes no call.
TEXT entry<>(SB), NOSPLIT|NOFRAME|TOPFRAME, $0-0
	CMPL DI, $32
	JGE  drop
	LEAQ shared<>(SB), R8
	MOVL 8(SI), AX          // si_code
	CMPL AX, $0
	JGT  kernel
	MOVL 16(SI), CX         // si_pid
	CMPL AX, $0             // SI_USER
	JEQ  known
	CMPL AX, $-6            // SI_TKILL
	JNE  note

known:
	CMPL CX, 8(R8)          // this process
	JEQ  pass

note:
	ORL  $0x80000000, CX
	SHLQ $32, AX
	ORQ  CX, AX
	MOVL DI, DI
	XCHGQ AX, 16(R8)(DI*8)
	MOVL $64, DI            // bell

pass:
	MOVQ (R8), AX           // Go's handler
	JMP  AX

kernel:
	CMPL AX, $0x80          // SI_KERNEL
	JEQ  pass
	MOVL 16(SI), CX
	MOVL $0x800009b0, R9    // faults
	BTL  DI, R9
	JCS  pass
	JMP  note

drop:
	RET
