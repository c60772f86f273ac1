# Call frame information no compiler would write together: one function per construct, a row per instruction.
	.macro begin name
	.globl \name
	.type \name, @function
\name:
	.cfi_startproc
	.endm
	.macro end name
	nop
	.cfi_endproc
	.size \name, . - \name
	.endm
	.text
	begin pushes
	nop
	.cfi_def_cfa_offset 16
	.cfi_offset rbp, -16
	nop
	.cfi_def_cfa_register rbp
	.cfi_offset rbx, -24
	.cfi_offset r12, -32
	.cfi_offset r13, -40
	.cfi_offset r14, -48
	.cfi_offset r15, -56
	nop
	.cfi_remember_state
	.cfi_restore rbx
	.cfi_def_cfa rsp, 8
	nop
	.cfi_restore_state
	end pushes

	begin value_rules
	.cfi_val_offset rbx, -64            # val_offset
	nop
	.cfi_escape 0x15, 12, 4             # val_offset_sf r12 = CFA - 32
	nop
	.cfi_register r13, rax
	nop
	.cfi_undefined r14
	nop
	.cfi_same_value r15
	nop
	.cfi_escape 0x16, 3, 3, 0x77, 24, 0x06          # val_expression rbx: breg7 24; deref
	nop
	.cfi_escape 0x10, 6, 2, 0x77, 16                # expression rbp: breg7 16
	nop
	.cfi_escape 0x10, 12, 5, 0x77, 8, 0x06, 0x23, 32   # expression r12: breg7 8; deref; plus_uconst 32
	nop
	.cfi_escape 0x16, 15, 3, 0x33, 0x1e, 0x96       # val_expression r15: CFA on the stack; lit3; mul; nop
	end value_rules

	begin initial_stack
	.cfi_escape 0x16, 3, 3, 0x23, 40, 0x96          # val_expression rbx: CFA on the stack; plus_uconst 40; nop
	nop
	.cfi_escape 0x10, 13, 3, 0x48, 0x1c, 0x96       # expression r13: CFA; lit24; minus; nop
	nop
	.cfi_escape 0x16, 14, 8, 0x12, 0x06, 0x16, 0x12, 0x1c, 0x22, 0x96, 0x96   # dup deref swap dup minus plus
	end initial_stack

	begin cfa_expressions
	nop
	.cfi_escape 0x0f, 3, 0x77, 40, 0x06             # CFA: breg7 40; deref
	nop
	.cfi_escape 0x0f, 5, 0x77, 16, 0x08, 64, 0x22   # CFA: breg7 16; const1u 64; plus
	nop
	.cfi_escape 0x0f, 4, 0x92, 6, 32, 0x96          # CFA: bregx 6 32; nop
	nop
	.cfi_def_cfa rsp, 24
	nop
	.cfi_escape 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22   # the PLT's
	end cfa_expressions

	begin branches
	# CFA: breg7 16; lit5; lit3; gt; bra +4; const2u 4096; plus; const1s 8; plus
	.cfi_escape 0x0f, 15, 0x77, 16, 0x35, 0x33, 0x2b, 0x28, 4, 0, 0x0a, 0, 16, 0x22, 0x09, 8, 0x22
	end branches

	begin signed_forms
	.cfi_escape 0x13, 0x7e                          # def_cfa_offset_sf -2 * -8 = 16
	nop
	.cfi_escape 0x12, 6, 0x7c                       # def_cfa_sf rbp, -4 * -8 = 32
	nop
	.cfi_escape 0x11, 3, 3                          # offset_extended_sf rbx = CFA - 24
	nop
	.cfi_escape 0x05, 12, 5                         # offset_extended r12 = CFA - 40
	nop
	.cfi_escape 0x2f, 14, 2                         # GNU_negative_offset_extended r14 = CFA + 16
	nop
	.cfi_escape 0x2e, 48                            # GNU_args_size
	nop
	.cfi_escape 0x06, 12                            # restore_extended r12
	nop
	.cfi_escape 0x0c, 7, 64                         # def_cfa rsp, 64
	nop
	.cfi_escape 0x0e, 72                            # def_cfa_offset 72
	nop
	.cfi_escape 0x0d, 3                             # def_cfa_register rbx
	end signed_forms

	begin far_advances
	.skip 63, 0x90
	.cfi_def_cfa_offset 16
	.skip 100, 0x90
	.cfi_def_cfa_offset 24
	.skip 1000, 0x90
	.cfi_def_cfa_offset 32
	.skip 70000, 0x90
	.cfi_def_cfa_offset 40
	nop
	end far_advances

	begin outermost
	.cfi_undefined rip
	nop
	.cfi_def_cfa rbp, 16
	end outermost

	begin many_rows
	.cfi_def_cfa_offset 8
	.rept 150
	nop
	.cfi_def_cfa_offset 16
	nop
	.cfi_def_cfa_offset 8
	.endr
	end many_rows

	.globl signal_return
	.type signal_return, @function
	.cfi_startproc
	.cfi_signal_frame
	.cfi_escape 0x0f, 4, 0x77, 0xa0, 1, 0x06        # CFA: breg7 160; deref
	.cfi_escape 0x10, 8, 2, 0x77, 0x28
	.cfi_escape 0x10, 6, 3, 0x77, 0xf8, 0
	.cfi_escape 0x10, 3, 3, 0x77, 0x80, 1
	.cfi_escape 0x10, 0, 3, 0x77, 0x90, 1
	.cfi_escape 0x10, 7, 3, 0x77, 0xa0, 1
	.cfi_escape 0x10, 16, 3, 0x77, 0xa8, 1
	nop
signal_return:
	mov $15, %rax
	syscall
	.cfi_endproc
	.size signal_return, . - signal_return
	.section .note.GNU-stack, "", @progbits
