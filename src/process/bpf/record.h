/* Records of the program in the kernel (iterator.bpf.c): C, for both sides. They never leave the machine: the two
 * halves of one file write and read them. */
#ifndef MIXSTACK_BPF_RECORD_H
#define MIXSTACK_BPF_RECORD_H

enum {
  MIXSTACK_REGISTER_BYTES = 34 * 8,
  MIXSTACK_COMM_BYTES = 16,
  MIXSTACK_ALIGNMENT = 8,
  MIXSTACK_MOST_SEEN = 1 << 15, /* threads of which is known whether they have run: those beyond are copied each time */
  MIXSTACK_TABLE_SHIFT = 21,    /* what one page table maps, at least: 2 MiB */
  MIXSTACK_MOST_GROWN = 16,     /* in a minute */
  MIXSTACK_SPARE_ROOM = 2 << 20, /* bytes for records without a copy, when that for copies is used up */
  MIXSTACK_MOST_MOVED = 1 << 12, /* threads that have run; if more have, a round reports all */
  MIXSTACK_PART = 256 << 10      /* bytes of records after which the reader has its turn */
};

enum mixstack_record_flags {
  MIXSTACK_ON_CPU = 1,      /* on a processor when looked at: nothing of it was read */
  MIXSTACK_UNCHANGED = 2,   /* has not run since its last copy: the record ends after `stack_size` */
  MIXSTACK_REGISTERS = 4,   /* `registers`, `thread_pointer` and `comm` are there */
  MIXSTACK_TORN = 8,        /* ran while it was read: nothing of it is given */
  MIXSTACK_NO_ROOM = 16,    /* the buffer was full: the next round has it */
  MIXSTACK_ENDING = 32,     /* has no memory any more */
  MIXSTACK_NO_STACK = 64,   /* sp is in no mapping, or in one whose pages others serve */
  MIXSTACK_NOT_COPIED = 128 /* the stack could not be copied; `error` says why */
};

struct mixstack_record {
  unsigned int size;  /* of all of it, a multiple of MIXSTACK_ALIGNMENT */
  unsigned int flags; /* enum mixstack_record_flags */
  unsigned int tid, ns_tid;
  unsigned int state; /* task_struct.__state */
  unsigned int exit_state;
  unsigned long long voluntary_switches, involuntary_switches;
  unsigned long long run_time; /* ns */
  int error;
  unsigned int stack_size; /* bytes at the end */
  /* from here on only with MIXSTACK_REGISTERS */
  unsigned long long stack_base;
  unsigned long long thread_pointer;
  long long system_call; /* it is in; -1: none, or `registers` tell */
  char comm[MIXSTACK_COMM_BYTES];
  unsigned char registers[MIXSTACK_REGISTER_BYTES]; /* as NT_PRSTATUS has them */
  unsigned long long kernel_size; /* bytes, of `kernel_bytes` of the settings that follow; then the stack */
};

/* Constants of one load. */
struct mixstack_settings {
  unsigned long long room;       /* bytes for records with a copy */
  unsigned int pid;              /* as we see it */
  unsigned int stack_bytes;      /* of a thread, at most */
  unsigned int red_zone;         /* bytes below sp that are copied, too */
  unsigned int kernel_bytes;     /* for where a thread is in the kernel, 8 for each call, at most; 0: not asked */
  unsigned int leaves_displaced; /* threads that made room for us count as on a processor */
};

/* Written by us before a round, by the program in it. */
struct mixstack_control {
  unsigned int copies; /* 0: only asks who has run since its last copy, and forgets nothing */
  unsigned int untold; /* threads for which there was no room at all */
  unsigned long long used;
  unsigned long long own_namespace; /* ours, and how deep it lies */
  unsigned int own_level;
  unsigned int position;   /* of the next thread of the process */
  unsigned int ended;      /* threads before it that have ended since the last round */
  unsigned int grown;      /* copies in which the process got page tables; set to 0 every now and then */
  unsigned long long born; /* when the process's first thread began; 0: not known yet */
  unsigned long long fence;
  unsigned int leader;     /* id of the process as the kernel counts; 0: not known yet */
  unsigned int known;      /* threads of the last round that told all */
  unsigned int moved;      /* of those, how many have run since they were told */
  unsigned int told;       /* of the moved ones: how many a round has come to */
  unsigned int are_others; /* threads have come or gone: a round must tell all */
};

#endif
