# int scen_call_rbp_plain(int (*callback)(void*), void* argument)
# Uses rbp as a plain register while it calls: a frame-pointer walk must fail here, call frame information must not.
        .text
        .globl  scen_call_rbp_plain
        .type   scen_call_rbp_plain, @function
scen_call_rbp_plain:
        .cfi_startproc
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        pushq   %rbx
        .cfi_def_cfa_offset 24
        .cfi_offset %rbx, -24
        subq    $40, %rsp
        .cfi_def_cfa_offset 64
        movq    %rdi, %rax
        movq    %rsi, %rdi
        movabsq $0x5ca1ab1e0ddba11, %rbp
        movq    %rbp, %rbx
        call    *%rax
        cmpq    %rbp, %rbx
        je      1f
        movl    $-1, %eax
1:      addq    $40, %rsp
        .cfi_def_cfa_offset 24
        popq    %rbx
        .cfi_restore %rbx
        .cfi_def_cfa_offset 16
        popq    %rbp
        .cfi_restore %rbp
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc
        .size   scen_call_rbp_plain, .-scen_call_rbp_plain
        .section .note.GNU-stack, "", @progbits
