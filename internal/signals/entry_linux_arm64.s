#include "textflag.h"

// shared is the memory of type shared. It is no Go variable: the entry must find it
// without a call.
GLOBL shared<>(SB), NOPTR, $272

// func memory() (s *shared, entry uintptr)
TEXT ·memory(SB), NOSPLIT, $0-16
	MOVD $shared<>(SB), R0
	MOVD R0, s+0(FP)
	MOVD $entry<>(SB), R0
	MOVD R0, entry+8(FP)
	RET

// entry is a signal handler: R0 is the signal, R1 the siginfo_t, R2 the context. It keeps
// all registers that Go's handler expects, uses no stack and makes no call.
TEXT entry<>(SB), NOSPLIT|NOFRAME|TOPFRAME, $0-0
	CMPW $32, R0
	BGE  drop
	MOVD $shared<>(SB), R8
	MOVW 8(R1), R9          // si_code
	MOVWU 16(R1), R10       // si_pid
	CMPW $0, R9
	BGT  kernel
	BEQ  known              // SI_USER
	CMNW $6, R9             // SI_TKILL
	BNE  note

known:
	MOVWU 8(R8), R11        // this process
	CMPW R11, R10
	BEQ  pass

note:
	ORR  $0x80000000, R10, R10
	LSL  $32, R9, R9
	ORR  R10, R9, R9
	MOVWU R0, R0
	ADD  $16, R8, R11
	ADD  R0<<3, R11, R11
	STLR R9, (R11)
	MOVD $64, R0            // bell

pass:
	MOVD (R8), R11          // Go's handler
	JMP  (R11)

kernel:
	CMPW $0x80, R9          // SI_KERNEL
	BEQ  pass
	MOVD $0x800009b0, R11   // faults
	LSR  R0, R11, R11
	TBNZ $0, R11, pass
	JMP  note

drop:
	RET
