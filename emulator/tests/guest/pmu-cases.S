/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which code retires how many instructions, and branches of which kind?  One
 * case for each answer: code with a window, then a line each for what retires
 * at CPL 0 and at CPL 3 in it,
 *	at_0	insns=, taken=, not=, jmp=, call=, ret=, far=
 * where taken and not are conditional branches, and what a close macro adds
 * (window_instructions, at CPL 0) is left out.  A window that is open at CPL 3
 * is closed by VEC_LEAVE, which is isr_close.
 */
#include "asm.h"

.macro counted name:req
	.pushsection .rodata
9001:	.asciz	"\name"
	.popsection
	.pushsection .counted, "a"
	PTR	9001b, 9002f
	.popsection
	.text
	.balign	16
9002:
.endm

.macro retires insns=0, taken=0, not=0, jmp=0, call=0, ret=0, far=0
	.pushsection .counted, "a"
	.long	\insns, \taken, \not, \jmp, \call, \ret, \far
	.popsection
.endm
#define at_0 retires
#define at_3 retires
.macro nothing_at_3
	at_3
.endm

/* The page that fault_pte is of, until somebody touches it. */
.macro unmap page:req
	mov	$\page, %eax
	shr	$12, %eax
	lea	page_tables(, AX, 8), AX
	mov	AX, fault_pte
	andl	$~1, (AX)
	invlpg	\page
.endm

counted "nothing"
	open
	close
	ret
at_0
nothing_at_3

counted "to CPL 3 and back"
	push_user 1f
	open
	IRET
	user
1:	int	$VEC_LEAVE
	enduser
at_0	insns=1, far=1
at_3	insns=1, far=1

counted "ten instructions"
	open
	.rept	10
	nop
	.endr
	close
	ret
at_0	insns=10
nothing_at_3

counted "5000 in a row, on two pages"
	open
	.rept	5000
	nop
	.endr
	close
	ret
at_0	insns=5000
nothing_at_3

counted "near jumps"
	push	$6f
	mov	$5f, BX
	open
1:	jmp	3f
2:	.byte	0xe9			/* the long form */
	.long	4f - (. + 4)
3:	jmp	2b
	.skip	200, 0xcc
4:	jmp	*BX
	ud2
5:	jmp	*(SP)
	ud2
6:	close
	pop	AX
	ret
at_0	insns=5, jmp=5
nothing_at_3

counted "calls and returns"
	mov	$3f, BX
	push	$3f
	open
	call	3f
	call	*BX
	call	*(SP)
	push	$0
	push	$0
	call	4f
	close
	pop	AX
	ret
3:	nop
	ret
4:	ret	$2 * WORD
at_0	insns=13, call=4, ret=4
nothing_at_3

counted "conditional jumps"
	open
	mov	$1, %eax
	cmp	$2, %eax
	jb	2f			/* taken */
	ud2
2:	ja	9f
	je	9f
	jne	5f			/* taken */
	ud2
5:	.byte	0x0f, 0x82		/* jb, long form, taken */
	.long	7f - (. + 4)
	ud2
7:	.byte	0x0f, 0x83		/* jae, long form */
	.long	9f - (. + 4)
	jo	9f
	jnp	9f
	js	10f			/* taken */
9:	ud2
10:	close
	ret
at_0	insns=11, taken=4, not=5
nothing_at_3

/* Of each condition and its contrary one holds, whatever the flags. */
counted "all conditions"
	open
	.irp	flags, 0, 1, 4, 0x40, 0x80, 0x800, 0x8c5
	pushf
	movl	$\flags | 2, (SP)
	popf
	.irp	cc, o, no, b, ae, e, ne, be, a, s, ns, p, np, l, ge, le, g
	j\cc	1f
1:
	.endr
	.endr
	close
	ret
at_0	insns=7*19, taken=7*8, not=7*8
nothing_at_3

counted "a loop of 10,000 turns"
	mov	$10000, %ebx
	open
1:	dec	%ebx
	jnz	1b
	close
	ret
at_0	insns=20000, taken=9999, not=1
nothing_at_3

counted "a loop that calls, 1000 times"
	mov	$1000, %ebx
	mov	$2f, SI
	open
1:	call	*SI
	dec	%ebx
	jnz	1b
	close
	ret
2:	ret
at_0	insns=4000, taken=999, not=1, call=1000, ret=1000
nothing_at_3

counted "loop, loope, loopne, jcxz"
	open
	mov	$3, %ecx
1:	loop	1b			/* taken twice */
	jecxz	3f			/* taken */
	ud2
3:	mov	$5, %ecx
4:	jecxz	3b
	cmp	%ecx, %ecx
	loopne	4b			/* ZF: falls through */
	loope	7f			/* taken */
	ud2
7:	cmp	$0, %ecx
	loopne	9f			/* taken */
	ud2
9:	loope	4b			/* ZF clear: falls through */
	mov	$1, %ecx
	cmp	%ecx, %ecx
	loope	4b			/* count ends */
	close
	ret
at_0	insns=16, taken=5, not=5
nothing_at_3

counted "repeated string instructions"
	cld
	mov	$scratch, %esi
	mov	$scratch + 6000, %edi	/* goes over a page end */
	open
	mov	$5000, %ecx
	rep movsb
	mov	$scratch, %edi
	mov	$5000, %ecx
	xor	%eax, %eax
	rep stosb
	mov	$scratch, %edi
	mov	$5000, %ecx
	repe scasb
	mov	$7, %ecx
	repne scasb			/* ends at the first */
	xor	%ecx, %ecx
	rep stosb			/* none */
	mov	$1, %ecx
	rep stosb			/* one */
	stosb
	mov	$2, %ecx
	mov	$scratch, %esi
	mov	$scratch, %edi
	repe cmpsb
	mov	$scratch, %esi
	xor	%ecx, %ecx
	rep lodsb
	close
	ret
at_0	insns=23
nothing_at_3

counted "input and output"
	mov	$scratch, %esi
	open
	in	$0x80, %al
	nop
	out	%al, $0x80
	mov	$0x80, %edx
	outsb
	mov	$3, %ecx
	rep outsb
	xor	%ecx, %ecx
	rep outsb
	close
	ret
at_0	insns=9
nothing_at_3

counted "an interrupt in a repeated string instruction"
	self_ipi SELF_VECTOR + VEC_IPI
	open
	mov	$1000, %ecx
	mov	$scratch, %edi
	sti
	rep stosb
	cli
	close
	ret
at_0	insns=10, far=1
nothing_at_3

counted "page fault"
	unmap	fault_page
	open
	nop
	mov	fault_page, %eax
	nop
	close
	ret
at_0	insns=3+6, far=1
nothing_at_3

counted "page fault in a repeated string instruction"
	cld
	unmap	fault_page
	open
	mov	$300, %ecx
	mov	$fault_page - 100, %edi
	rep stosb
	close
	ret
at_0	insns=3+6, far=1
nothing_at_3

counted "page fault of a write, and of both in one"
	unmap	fault_page
	open
	movl	$1, fault_page + 4
	unmap	fault_page		/* six instructions */
	incl	fault_page + 4
	unmap	fault_page
	lock
	incl	fault_page + 4
	close
	ret
at_0	insns=3*(1+6)+2*6, far=3
nothing_at_3

counted "page fault of a call at CPL 3"
	unmap	user_fault_page
	push_user 1f
	open
	IRET
	user
1:	mov	$user_fault_page + 64, %esp
	call	2f
2:	int	$VEC_LEAVE
	enduser
at_0	insns=1+6, far=2
at_3	insns=3, call=1, far=1

counted "page fault of a jump at CPL 3"
	movl	$2f, user_fault_page
	movl	$0, user_fault_page + 4
	unmap	user_fault_page
	push_user 1f
	open
	IRET
	user
1:	nop
	jmp	*user_fault_page
	ud2
2:	int	$VEC_LEAVE
	enduser
at_0	insns=1+6, far=2
at_3	insns=3, jmp=1, far=1

/* This is before the page that it takes away. */
counted "an instruction of which the second page faults"
	unmap	second_page
	open
	jmp	two_pages
at_0	insns=2+6, jmp=1, far=1
nothing_at_3

counted "an instruction on two pages"
	open
	jmp	two_pages
	.balign	4096, 0xcc
second_page = . + 4096
	.skip	4094, 0xcc
two_pages:
	mov	$0x12345678, %ebx
	close
	ret
at_0	insns=2, jmp=1
nothing_at_3

counted "INT n and INT3"
	open
	int	$VEC_IRET
	int3
	close
	ret
at_0	insns=4, far=4
nothing_at_3

#ifdef __x86_64__
counted "far jump, call and return"
	open
	ljmp	*3f
	ud2
3:	.long	4f, KCS
4:	lcall	*6f
	close
	ret
6:	.long	7f, KCS
7:	lretl
at_0	insns=3, far=3
nothing_at_3
#else
counted "far jump, call and return"
	open
	ljmp	$KCS, $4f
	ud2
4:	lcall	$KCS, $7f
	lcall	*6f
	close
	ret
6:	.long	7f, KCS
7:	lret
at_0	insns=5, far=5
nothing_at_3

counted "INTO, taken and not"
	open
	mov	$0x7f, %al
	add	$1, %al
	into				/* traps */
	test	%al, %al
	into				/* does not */
	close
	ret
at_0	insns=6, far=2
nothing_at_3
#endif

counted "exceptions: UD2 and division"
	xor	%ebx, %ebx
	open
	nop
	ud2				/* isr_ud skips two bytes: two instructions */
	nop
	div	%ebx
	nop
	close
	ret
at_0	insns=3+2+2, far=2
nothing_at_3

counted "#GP of a WRMSR"
	mov	$1f, %eax
	mov	AX, gp_fixup
	open
	mov	$0x38e, %ecx
	wrmsr				/* isr_gp: eight, with a jump not taken */
1:	close
	movl	$0, gp_fixup
	ret
at_0	insns=1+8, not=1, far=1
nothing_at_3

counted "single step"
	open
	pushf
	orl	$0x100, (SP)
	popf
	nop				/* #DB after it: three */
	nop
	close
	ret
at_0	insns=5+3, far=1
nothing_at_3

counted "single step over a branch"
	open
	pushf
	orl	$0x100, (SP)
	popf
	jmp	1f
	ud2
1:	close
	ret
at_0	insns=4+3, jmp=1, far=1
nothing_at_3

counted "an instruction breakpoint"
	mov	$1f, %eax
	mov	AX, %dr0
	mov	$1, %eax
	mov	AX, %dr7
	open
	nop
1:	nop
	nop
	close
	xor	%eax, %eax
	mov	AX, %dr7
	ret
at_0	insns=3+3, far=1
nothing_at_3

counted "a data breakpoint"
	mov	$scratch, %eax
	mov	AX, %dr0
	mov	$0xd0001, %eax
	mov	AX, %dr7
	open
	nop
	incl	scratch
	nop
	close
	xor	%eax, %eax
	mov	AX, %dr7
	ret
at_0	insns=3+3, far=1
nothing_at_3

counted "hardware interrupt"
	self_ipi SELF_VECTOR + VEC_IPI
	open
	sti
	nop
	nop
	cli
	close
	ret
at_0	insns=4+5, far=1
nothing_at_3

counted "NMI"
	open
	mov	$LAPIC + 0x300, %eax
	sti
	movl	$SELF_NMI, (AX)
	cli
	close
	ret
at_0	insns=4+1, far=1
nothing_at_3

counted "PAUSE"
	open
	pause
	nop
	pause
	close
	ret
at_0	insns=3
nothing_at_3

counted "HLT"
	self_ipi SELF_VECTOR + VEC_IPI
	open
	sti
	hlt
	cli
	close
	ret
at_0	insns=3+5, far=1
nothing_at_3

counted "MOV SS and STI, and what they protect"
	mov	%ss, %ebx
	open
	mov	%ebx, %ss
	nop
	mov	%ebx, %ss
	jmp	1f
1:	sti
	nop
	cli
	mov	%ebx, %ss
	close
	ret
at_0	insns=8, jmp=1
nothing_at_3

counted "a store over the next instruction"
	open
	clc
	movb	$0xf9, 1f		/* STC, and NOP again */
1:	nop
	jc	2f
	ud2
2:	movb	$0x90, 1b
	close
	ret
at_0	insns=5, taken=1
nothing_at_3

counted "a store over an instruction of its loop"
	mov	$100, %ebx
	open
1:	xorb	$0x90 ^ 0xf9, 2f
	dec	%ebx
2:	nop
	jnz	1b
	close
	ret
at_0	insns=400, taken=99, not=1
nothing_at_3

counted "a store over itself"
	open
	nop
1:	movb	$0xc6, 1b		/* what is there already */
	nop
	close
	ret
at_0	insns=3
nothing_at_3

counted "atomic instructions"
	open
	lock
	incl	scratch
	mov	$1, %eax
	lock
	xadd	%eax, scratch
	xchg	%eax, scratch
	lock
	cmpxchg	%ebx, scratch
	lock
	cmpxchg8b scratch
	lock
	incl	scratch + 62		/* over the end of a line */
	lock
	incl	scratch + 4094		/* over the end of a page */
	lock
	btsl	$3, scratch
	close
	ret
at_0	insns=9
nothing_at_3

#ifdef __x86_64__
counted "CMPXCHG16B"
	open
	nop
	lock
	cmpxchg16b scratch
	nop
	close
	ret
at_0	insns=3
nothing_at_3
#endif

counted "memory of a device, between other instructions"
	mov	$LAPIC + 0x30, %ebx
	open
	nop
	mov	(BX), %eax
	nop
	mov	(BX), %eax
	addl	$0, 0x50(BX)		/* TPR */
	nop
	close
	ret
at_0	insns=6
nothing_at_3

counted "instructions of the system"
	open
	mov	%cr3, AX
	mov	AX, %cr3
	invlpg	scratch
	rdtsc
	xor	%ecx, %ecx
	rdpmc
	mov	$0x1a0, %ecx
	rdmsr
	wrmsr
	pushf
	popf
	mov	%cr0, AX
	mov	AX, %cr0
	wbinvd
	clts
	close
	ret
at_0	insns=15
nothing_at_3

counted "descriptors and segments"
	open
	sgdt	scratch
	lgdt	scratch
	sidt	scratch
	lidt	scratch
	str	%eax
	sldt	%eax
	mov	$KDS, %eax
	lar	%eax, %edx
	lsl	%eax, %edx
	verr	%ax
	mov	%eax, %fs
	push	%fs
	pop	%fs
	smsw	%eax
	lmsw	%ax
	mov	%dr7, AX
	mov	AX, %dr7
	close
	ret
at_0	insns=17
nothing_at_3

counted "MWAIT"
	self_ipi SELF_VECTOR + VEC_IPI
	open
	mov	$scratch, %eax
	xor	%ecx, %ecx
	xor	%edx, %edx
	monitor
	xor	%eax, %eax
	sti
	mwait
	nop				/* TCG may wait here, with a second CPU */
	cli
	close
	ret
at_0	insns=9+5, far=1
nothing_at_3

counted "CPUID"
	open
	xor	%eax, %eax
	cpuid
	close
	ret
at_0	insns=2
nothing_at_3

counted "x87 instructions"
	open
	fninit
	fld1
	fstps	scratch
	close
	ret
at_0	insns=3
nothing_at_3

counted "branches at CPL 3"
	push_user 1f
	open
	IRET
	user
1:	jmp	2f
	ud2
2:	call	4f
	xor	%eax, %eax
	jz	5f
	ud2
4:	ret
5:	jnz	1b
	mov	$3, %ecx
6:	loop	6b
	int	$VEC_LEAVE
	enduser
at_0	insns=1, far=1
at_3	insns=11, taken=3, not=2, jmp=1, call=1, ret=1, far=1

counted "INT3, INT n and exception at CPL 3"
	push_user 1f
	open
	IRET
	user
1:	int3
	int	$VEC_IRET
	ud2
	int	$VEC_LEAVE
	enduser
at_0	insns=1+1+1+2, far=4
at_3	insns=3, far=3

counted "hardware interrupt at CPL 3"
	self_ipi SELF_VECTOR + VEC_IPI
	push_user 1f, flags=0x202
	open
	IRET
	user
1:	nop
	int	$VEC_LEAVE
	enduser
at_0	insns=1+5, far=2
at_3	insns=2, far=1

counted "page fault at CPL 3"
	unmap	user_fault_page
	push_user 1f
	open
	IRET
	user
1:	nop
	mov	user_fault_page, %al
	nop
	int	$VEC_LEAVE
	enduser
at_0	insns=1+6, far=2
at_3	insns=4, far=1

counted "single step at CPL 3"
	push_user 1f, flags=0x102
	open
	IRET
	user
1:	nop
	nop
	int	$VEC_LEAVE
	enduser
at_0	insns=1+3, far=2
at_3	insns=3, far=1

counted "far return to CPL 3"
	push	$UDS
	push	$user_stack
	push	$UCS_NATIVE
	push	$1f
	open
	LRET
	user
1:	int	$VEC_LEAVE
	enduser
at_0	insns=1, far=1
at_3	insns=1, far=1

counted "call gate from CPL 3"
	push_user 1f
	open
	IRET
	user
1:	lcall	*2f
	ud2
2:	.long	0, GATE_SEL | 3
	enduser
at_0	insns=1, far=1
at_3	insns=1, far=1

counted "call gate from CPL 3 to CPL 3"
	push_user 1f
	open
	IRET
	user
1:	lcall	*3f
	int	$VEC_LEAVE
3:	.long	0, UGATE_SEL | 3
	enduser
at_0	insns=1, far=1
at_3	insns=3, far=3

counted "far call and return at CPL 3"
	push_user 1f
	open
	IRET
	user
1:	lcall	*3f
	int	$VEC_LEAVE
3:	.long	4f, UCS_NATIVE
4:	lretl
	enduser
at_0	insns=1, far=1
at_3	insns=3, far=3

#ifdef __x86_64__
counted "SYSCALL and SYSRET"
	mov	$1f, %ebx
	mov	case_flags, %r11d
	mov	$user_stack, %esp
	open
	mov	%ebx, %ecx
	sysretq
	user
1:	syscall				/* isr_syscall: NOP, SYSRET */
	int	$VEC_LEAVE
	enduser
at_0	insns=4, far=2
at_3	insns=2, far=2
#endif

counted "SYSENTER and SYSEXIT"
	mov	$1f, %ebx
	open
	mov	%ebx, %edx
	mov	$user_stack, %ecx
#ifdef __x86_64__
	rex.W sysexit
#else
	sysexit
#endif
	user
1:	sysenter			/* to isr_close */
	ud2
	enduser
at_0	insns=3, far=1
at_3	insns=1, far=1

#ifdef __x86_64__
counted "compatibility mode"
	push_user 1f, UCS32
	movabs	$0xdead000000000000 + 7f, %rbx
	open
	iretq
	user
	.code32
1:	call	2f
	xor	%ecx, %ecx
	jecxz	3f
	ud2
2:	ret
3:	mov	$2, %ecx
4:	loop	4b
	lcall	$UCS32, $5f
	mov	$0x7f, %al
	add	$1, %al
	into
	jmp	*%ebx
	ud2
7:	ljmp	$UCS, $8f
5:	lret
	.code64
8:	int	$VEC_LEAVE
	enduser
at_0	insns=2, far=2			/* IRET, and isr_iret's of INTO */
at_3	insns=15, taken=2, not=1, jmp=1, call=1, ret=1, far=5

counted "compatibility mode: SYSRET"
	mov	$1f, %ebx
	mov	case_flags, %r11d
	open
	mov	%ebx, %ecx
	sysretl
	user
	.code32
1:	mov	$UDS, %eax
	mov	%eax, %ss
	int	$VEC_LEAVE
	.code64
	enduser
at_0	insns=2, far=1
at_3	insns=3, far=1

counted "code at full 64-bit addresses"
	movabs	$ALIAS + 1f, %rbx
	open
	jmp	*%rbx
1:	jmp	2f
2:	movabs	$4f, %rbx
	jmp	*%rbx
4:	close
	ret
at_0	insns=4, jmp=3
nothing_at_3
#endif

	user
	.balign	4096
user_fault_page:
	.skip	4096
	enduser

	.bss
	.balign	4096
scratch: .skip	16384
	.globl	fault_page
fault_page: .skip 8192
