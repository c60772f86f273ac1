/* The kernel's types that iterator.bpf.c uses. Names and meaning of members are the kernel's
 * (include/linux/sched.h, pid.h, mm_types.h); where they lie is filled in at load time from the running kernel's own
 * description (CO-RE). Behind record.h and thread_registers.bpf.h. */
#ifndef MIXSTACK_BPF_KERNEL_TYPES_H
#define MIXSTACK_BPF_KERNEL_TYPES_H

#define KERNELS __attribute__((preserve_access_index))

struct pid_namespace;
struct upid {
  int nr;
  struct pid_namespace* ns;
} KERNELS;
struct pid {
  unsigned int level;
  struct upid numbers[1];
} KERNELS;

struct userfaultfd_ctx;
struct vm_userfaultfd_ctx {
  struct userfaultfd_ctx* ctx;
} KERNELS;
struct vm_area_struct {
  unsigned long vm_start, vm_end;
  struct file* vm_file;
  struct vm_userfaultfd_ctx vm_userfaultfd_ctx;
} KERNELS;

/* Counts what is written to the mappings; odd while somebody writes (Linux 6.14 on). */
struct seqcount {
  unsigned int sequence;
} KERNELS;
struct atomic_long {
  long counter;
} KERNELS;
struct mm_struct {
  struct seqcount mm_lock_seq;
  struct atomic_long pgtables_bytes;
} KERNELS;
/* Counts each end of writing (Linux 6.4 to 6.13). */
struct mm_struct___plain {
  int mm_lock_seq;
} KERNELS;

struct sched_entity {
  unsigned long long sum_exec_runtime;
} KERNELS;
struct sched_info {
  unsigned long long last_arrival, last_queued;
} KERNELS;
struct task_struct {
  unsigned int __state;
  int on_cpu; /* not there on machines with one processor */
  int exit_state;
  int pid, tgid;
  unsigned long long start_time;
  char comm[MIXSTACK_COMM_BYTES];
  unsigned long nvcsw, nivcsw;
  struct sched_entity se;
  struct sched_info sched_info; /* where the kernel keeps it (CONFIG_SCHED_INFO) */
  struct mm_struct* mm;
  struct pid* thread_pid;
  struct task_struct* group_leader;
  struct thread_struct thread;
} KERNELS;

/* Room for the kernel's iterator over tasks (Linux 6.7 on). */
struct bpf_iter_task {
  unsigned long long opaque[3];
} __attribute__((aligned(8)));

struct bpf_iter_meta {
  struct seq_file* seq;
} KERNELS;
struct bpf_iter__task {
  struct bpf_iter_meta* meta;
  struct task_struct* task;
} KERNELS;

#endif
