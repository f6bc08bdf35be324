/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ROM the machine starts from, instead of a BIOS: copy the guest to
 * 1 MiB and jump to it in 32-bit protected mode.
 */
#define ROM_SIZE 0x20000
#define HIGH     (0x100000000 - ROM_SIZE)	/* where the ROM is */
#define IMAGE    0x100000

	.code16
	.globl _start
_start:
	.incbin GUEST
image_end:
	.org ROM_SIZE - 0x100
	.balign 16
gdt:	.quad 0, 0x00cf9a000000ffff, 0x00cf92000000ffff
gdt_ptr:
	.word . - gdt - 1
	.long HIGH + (gdt - _start)
real:
	cli
	mov $(gdt_ptr - _start - (ROM_SIZE - 0x10000)), %bx
	lgdtl %cs:(%bx)
	mov %cr0, %eax
	or $1, %al
	mov %eax, %cr0
	ljmpl $8, $(HIGH + (protected - _start))
	.code32
protected:
	mov $16, %eax
	mov %eax, %ds
	mov %eax, %es
	mov %eax, %ss
	cld
	mov $HIGH, %esi
	mov $IMAGE, %edi
	mov $((image_end - _start + 3) / 4), %ecx
	rep movsl
	mov $IMAGE, %eax
	jmp *%eax
	.code16
	.org ROM_SIZE - 0x10
	jmp real
	.org ROM_SIZE
