// AArch64 counterpart: what its compilers write (pairs, authentication) and single constructs.
	.text
	.globl signed_frame
	.type signed_frame, %function
signed_frame:
	.cfi_startproc
	paciasp
	.cfi_negate_ra_state
	stp x29, x30, [sp, #-48]!
	.cfi_def_cfa_offset 48
	.cfi_offset x29, -48
	.cfi_offset x30, -40
	stp x19, x20, [sp, #16]
	.cfi_offset x19, -32
	.cfi_offset x20, -24
	mov x29, sp
	.cfi_def_cfa x29, 48
	.cfi_remember_state
	ldp x19, x20, [sp, #16]
	ldp x29, x30, [sp], #48
	.cfi_def_cfa sp, 0
	.cfi_restore x19
	.cfi_restore x20
	.cfi_restore x29
	.cfi_restore x30
	autiasp
	.cfi_negate_ra_state
	ret
	.cfi_restore_state
	brk #1
	.cfi_endproc
	.size signed_frame, . - signed_frame

	.globl leaf
	.type leaf, %function
leaf:
	.cfi_startproc
	add x0, x0, #1
	ret
	.cfi_endproc
	.size leaf, . - leaf

	.globl vectors
	.type vectors, %function
vectors:
	.cfi_startproc
	stp x29, x30, [sp, #-64]!
	.cfi_def_cfa_offset 64
	.cfi_offset w29, -64
	.cfi_offset w30, -56
	stp d8, d9, [sp, #16]
	.cfi_offset b8, -48
	.cfi_offset b9, -40
	ldp x29, x30, [sp], #64
	ret
	.cfi_endproc
	.size vectors, . - vectors

	.globl large
	.type large, %function
large:
	.cfi_startproc
	sub sp, sp, #1, lsl #12
	.cfi_def_cfa_offset 4096
	stp x29, x30, [sp]
	.cfi_offset x29, -4096
	.cfi_offset x30, -4088
	str x28, [sp, #16]
	.cfi_offset x28, -4080
	ret
	.cfi_endproc
	.size large, . - large

	.globl value_rules
	.type value_rules, %function
value_rules:
	.cfi_startproc
	nop
	.cfi_escape 0x16, 19, 3, 0x8f, 24, 0x06   // val_expression x19: breg31 24; deref
	nop
	.cfi_escape 0x14, 20, 4                   // val_offset x20
	nop
	.cfi_register x30, x9
	nop
	.cfi_undefined x21
	nop
	.cfi_same_value x22
	nop
	.cfi_escape 0x10, 23, 2, 0x8f, 16         // expression x23: breg31 16
	ret
	.cfi_endproc
	.size value_rules, . - value_rules

	.globl outermost
	.type outermost, %function
outermost:
	.cfi_startproc
	.cfi_undefined x30
	nop
	.cfi_endproc
	.size outermost, . - outermost
	.section .note.GNU-stack, "", %progbits
