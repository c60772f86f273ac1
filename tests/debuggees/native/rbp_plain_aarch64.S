// int scen_call_rbp_plain(int (*callback)(void*), void* argument)
// Uses x29 as a plain register while it calls: a frame-pointer walk must fail here, call frame information must not.
        .text
        .globl  scen_call_rbp_plain
        .type   scen_call_rbp_plain, %function
scen_call_rbp_plain:
        .cfi_startproc
        stp     x29, x30, [sp, #-48]!
        .cfi_def_cfa_offset 48
        .cfi_offset x29, -48
        .cfi_offset x30, -40
        str     x19, [sp, #16]
        .cfi_offset x19, -32
        mov     x9, x0
        mov     x0, x1
        mov     x29, #0xba11
        movk    x29, #0x1e0d, lsl #16
        movk    x29, #0xca1a, lsl #32
        movk    x29, #0x5ca1, lsl #48
        mov     x19, x29
        blr     x9
        cmp     x29, x19
        b.eq    1f
        mov     w0, #-1
1:      ldr     x19, [sp, #16]
        ldp     x29, x30, [sp], #48
        .cfi_restore x19
        .cfi_restore x29
        .cfi_restore x30
        .cfi_def_cfa_offset 0
        ret
        .cfi_endproc
        .size   scen_call_rbp_plain, .-scen_call_rbp_plain
        .section .note.GNU-stack, "", %progbits
