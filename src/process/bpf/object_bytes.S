/* The program for the kernel, as the compiler for it has made it (MIXSTACK_BPF_OBJECT is its path). */
        .section .rodata
        .balign 16
        .global mixstack_bpf_object_begin
        .hidden mixstack_bpf_object_begin
        .type mixstack_bpf_object_begin, %object
mixstack_bpf_object_begin:
        .incbin MIXSTACK_BPF_OBJECT
        .global mixstack_bpf_object_end
        .hidden mixstack_bpf_object_end
        .type mixstack_bpf_object_end, %object
mixstack_bpf_object_end:
        .byte 0
        .section .note.GNU-stack, "", %progbits
