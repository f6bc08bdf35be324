/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What assembly and C of the guests share: selectors, vectors, word size. */
#define KCS32	0x08		/* 32-bit kernel code of the 64-bit guest */
#define KCS	0x10
#define KDS	0x18
#define UCS32	0x23
#define UDS	0x2b
#define UCS	0x33		/* 64-bit guest only */
#define GATE_SEL 0x48		/* call gate for CPL 3 */
#define BASED_SEL 0x58		/* kernel code with base 0x1000, 32-bit guest */
#define UGATE_SEL 0x60		/* call gate to code of CPL 3 */
#define TSS_SEL	0x70

#define VEC_IRET  0x40		/* returns at once; DPL 3 */
#define VEC_IPI   0x41		/* end of interrupt, and returns */
#define VEC_PMI   0x42		/* performance counter interrupt as a vector */
#define VEC_HIGH  0x43		/* VEC_IRET's, through ALIAS */
#define VEC_LEAVE 0x80		/* ends a case that is at CPL 3; DPL 3 */

#define MSR_DEBUGCTL	0x1d9
#define MSR_GLOBAL_CTRL	0x38f
#define LAPIC		0xfee00000
/* All memory a second time, at addresses whose lower half is not mapped. */
#define ALIAS		0xffff800080000000
#define VM86		0x9000		/* page of the virtual-8086 code, 32-bit guest */
#define PARAM		0x7000		/* a word the test's runner may set */

#ifdef __x86_64__
#define UCS_NATIVE UCS
#else
#define UCS_NATIVE UCS32
#endif

#ifdef __ASSEMBLER__
#ifdef __x86_64__
#define PTR .quad
#define AX %rax
#define BX %rbx
#define CX %rcx
#define DX %rdx
#define SP %rsp
#define SI %rsi
#define DI %rdi
#define BP %rbp
#define WORD 8
#define IRET iretq
#define LRET rex.W lret
#else
#define PTR .long
#define AX %eax
#define BX %ebx
#define CX %ecx
#define DX %edx
#define SP %esp
#define SI %esi
#define DI %edi
#define BP %ebp
#define WORD 4
#define IRET iretl
#define LRET lret
#endif

/* Set IA32_DEBUGCTL.  No branch, so neither adds a record of its own. */
.macro on
	mov	$MSR_DEBUGCTL, %ecx
	mov	debugctl, %eax
	xor	%edx, %edx
	wrmsr
.endm
.macro off
	mov	$MSR_DEBUGCTL, %ecx
	xor	%eax, %eax
	xor	%edx, %edx
	wrmsr
.endm

/* The same for IA32_PERF_GLOBAL_CTRL: what is counted is between the two. */
.macro open
	mov	$MSR_GLOBAL_CTRL, %ecx
	mov	window, %eax
	mov	window + 4, %edx
	wrmsr
.endm
.macro close
	mov	$MSR_GLOBAL_CTRL, %ecx
	xor	%eax, %eax
	xor	%edx, %edx
	wrmsr
.endm

/* Code that runs at CPL 3 is in a section of its own. */
.macro user
	.pushsection .user, "ax"
.endm
.macro enduser
	.popsection
.endm

/* Push what IRET takes to get to CPL 3, with what a suite wants in EFLAGS. */
.macro push_user target:req, cs=UCS_NATIVE, flags=2
	push	$UDS
	push	$user_stack
	push	case_flags
	orl	$\flags, (SP)
	push	$\cs
	push	$\target
.endm

/* What turns NMI or interrupt into a certain one: at the next instruction. */
.macro self_ipi command:req
	mov	$LAPIC + 0x300, %eax
	movl	$\command, (AX)
.endm
#define SELF_VECTOR 0x44000
#define SELF_NMI    0x44400
#endif
