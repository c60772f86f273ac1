/* Runs in the kernel, once for each thread of the process: registers, and the bytes at the end of the stack, of threads
 * that are on no processor. Nothing is stopped and nothing is written to them.
 *
 * SPDX-License-Identifier: MIT OR GPL-2.0-only
 * This file alone (with record.h and the *.bpf.h it includes) may be used under either: the kernel gives the helpers
 * that read a task only to programs that say so. */
#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "record.h"
#include "thread_registers.bpf.h"

#include "kernel_types.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* Set before loading, and constants for the kernel's verifier. */
const volatile struct mixstack_settings settings = {};

struct mixstack_control control;

/* Records, one behind the other: mapped into our process, so that a round costs us one read(2) of nothing. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1);
  __uint(key_size, 4);
  __uint(value_size, 4096); /* set before loading */
} records SEC(".maps");

struct extent {
  unsigned long begin, end;
  int is_ours_to_touch;
};
struct found_extent {
  struct extent extent;
  unsigned int mappings; /* of which state it is */
  unsigned long mm;
};

/* What is known of a thread: told from another by when it began, too, for ids and addresses are used again. */
struct seen {
  unsigned long task;
  unsigned long long start_time;
  unsigned long long switches;
  unsigned long long pc, sp;
  unsigned int tid, ns_tid;
  unsigned int state;    /* that was told */
  int own_pid;           /* of the kernel's own counting; another thread's after an exec: then it is named anew */
  unsigned int mappings; /* state of the process's mappings in which `extent` is so; 0: none that is known */
  unsigned long mm;
  struct extent extent; /* the mapping of its stack */
};
/* In the order in which the kernel tells the threads of a process, which is that of their birth: one after the other,
 * so that the next is in the processor's cache before it is asked for. (Storage that goes with the task is not.) */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, MIXSTACK_MOST_SEEN);
  __type(key, unsigned int);
  __type(value, struct seen);
} last_copies SEC(".maps");

enum { kBusy = 16, kNoMemory = 12 }; /* EBUSY, ENOMEM */

static long note_extent(struct task_struct* task, struct vm_area_struct* area, struct extent* out) {
  (void)task;
  out->begin = area->vm_start;
  out->end = area->vm_end;
  /* A page that is not there is fetched by whoever asks. Those of a file system or of another process may never come,
   * and we would wait in the kernel. */
  out->is_ours_to_touch = area->vm_file == NULL;
  if (bpf_core_field_exists(area->vm_userfaultfd_ctx.ctx) && area->vm_userfaultfd_ctx.ctx != NULL)
    out->is_ours_to_touch = 0;
  return 0;
}

static __always_inline int is_on_cpu(struct task_struct* task) {
  if (!bpf_core_field_exists(task->on_cpu)) return 0; /* one processor, and we are on it */
  return *(volatile int*)__builtin_preserve_access_index(&task->on_cpu) != 0;
}

static __always_inline unsigned long long switches_of(struct task_struct* task) {
  return *(volatile unsigned long*)__builtin_preserve_access_index(&task->nvcsw) +
         *(volatile unsigned long*)__builtin_preserve_access_index(&task->nivcsw);
}

/* Loads before it come before loads after it. */
static __always_inline void fence(void) { (void)__sync_fetch_and_add(&control.fence, 1); }

/* What the task is called in the namespace at `level`. `ns`: only if it is that one; null: whichever it is. */
static __always_inline unsigned int id_at(struct pid* pid, unsigned int level, struct pid_namespace* ns) {
  struct upid* at = (struct upid*)((char*)__builtin_preserve_access_index(&pid->numbers[0]) +
                                   level * bpf_core_type_size(struct upid));
  struct pid_namespace* theirs = NULL;
  unsigned int number = 0;
  bpf_core_read(&theirs, sizeof theirs, &at->ns);
  if (ns != NULL && theirs != ns) return 0;
  bpf_core_read(&number, sizeof number, &at->nr);
  return number;
}

/* Our own namespace, found once a round. */
static __always_inline void find_own_namespace(void) {
  struct task_struct* self = (struct task_struct*)bpf_get_current_task();
  struct pid* pid = BPF_CORE_READ(self, thread_pid);
  const unsigned int level = BPF_CORE_READ(pid, level);
  struct upid* at = (struct upid*)((char*)__builtin_preserve_access_index(&pid->numbers[0]) +
                                   level * bpf_core_type_size(struct upid));
  struct pid_namespace* ns = NULL;
  bpf_core_read(&ns, sizeof ns, &at->ns);
  control.own_level = level;
  control.own_namespace = (unsigned long)ns;
}

/* Both ids of the task; 0 when it is none of the process's, or not to be seen by us. */
static __always_inline int name_task(struct task_struct* task, struct mixstack_record* out) {
  if (control.own_namespace == 0) find_own_namespace();
  struct pid_namespace* ns = (struct pid_namespace*)control.own_namespace;
  const unsigned int level = control.own_level;
  struct pid* pid = BPF_CORE_READ(task, thread_pid);
  if (pid == NULL) return 0; /* has ended */
  const unsigned int own_level = BPF_CORE_READ(pid, level);
  if (own_level < level) return 0;
  struct pid* leader = BPF_CORE_READ(task, group_leader, thread_pid);
  if (leader == NULL || id_at(leader, level, ns) != settings.pid) return 0;
  /* Another process that has its id now began later. (A program that replaces it keeps the time.) */
  const unsigned long long born = BPF_CORE_READ(task, group_leader, start_time);
  if (control.born == 0) control.born = born;
  if (control.born != born) return 0;
  control.leader = task->tgid;
  out->tid = id_at(pid, level, ns);
  out->ns_tid = id_at(pid, own_level, NULL);
  return out->tid != 0;
}

static __always_inline void describe(struct task_struct* task, struct mixstack_record* out) {
  out->size = __builtin_offsetof(struct mixstack_record, stack_base);
  out->flags = 0;
  out->error = 0;
  out->stack_size = 0;
  out->state = task->__state;
  out->exit_state = task->exit_state;
  out->voluntary_switches = task->nvcsw;
  out->involuntary_switches = task->nivcsw;
  out->run_time = task->se.sum_exec_runtime;
}

/* A number that is another after each change of the mappings; 0 where the kernel tells none, or one is being made. */
static __always_inline unsigned int state_of_mappings(struct mm_struct* mm) {
  if (bpf_core_field_exists(((struct mm_struct*)0)->mm_lock_seq.sequence)) {
    const unsigned int sequence = *(volatile unsigned int*)__builtin_preserve_access_index(&mm->mm_lock_seq.sequence);
    return (sequence & 1) != 0 ? 0 : sequence;
  }
  struct mm_struct___plain* plain = (struct mm_struct___plain*)mm;
  if (bpf_core_field_exists(plain->mm_lock_seq)) return BPF_CORE_READ(plain, mm_lock_seq);
  return 0;
}

static __always_inline long bytes_of_tables(struct mm_struct* mm) {
  return bpf_core_field_exists(mm->pgtables_bytes) ? *(volatile long*)&mm->pgtables_bytes.counter : 0;
}

/* The mapping at `sp`: as it was at the last copy, where no mapping of the process has changed since. */
static __always_inline long find_extent(struct task_struct* task, struct seen* seen, unsigned long long sp,
                                        struct found_extent* out) {
  struct mm_struct* mm = task->mm;
  out->mappings = state_of_mappings(mm);
  out->mm = (unsigned long)mm;
  if (seen != NULL && out->mappings != 0 && seen->mappings == out->mappings && seen->mm == out->mm &&
      sp >= seen->extent.begin && sp < seen->extent.end) {
    out->extent = seen->extent;
    return 0;
  }
  return bpf_find_vma(task, sp, note_extent, &out->extent, 0);
}

/* Bytes of the stack behind the record, as far as its mapping goes. */
static __always_inline void copy_stack(struct task_struct* task, struct mixstack_record* out, unsigned long long sp,
                                       struct seen* seen, struct found_extent* at) {
  const long found = find_extent(task, seen, sp, at);
  if (found == -kBusy) { /* the process changes its mappings */
    out->flags |= MIXSTACK_NOT_COPIED;
    out->error = kBusy;
    return;
  }
  const struct extent extent = at->extent;
  if (found != 0 || !extent.is_ours_to_touch) {
    out->flags |= MIXSTACK_NO_STACK;
    return;
  }
  unsigned long long begin = sp - settings.red_zone;
  if (begin < extent.begin || begin > sp) begin = extent.begin;
  /* Thread libraries put a thread's control block at the top of its stack: no frame lies there. */
  const unsigned long long block = out->thread_pointer;
  const unsigned long long end = block > sp && block < extent.end ? block : extent.end;
  unsigned long long size = end - begin;
  if (size > settings.stack_bytes) size = settings.stack_bytes;
  /* Memory that was never touched gets page tables when it is read. A stack's was touched; a thread that says of ever
   * new memory that it is its stack is not to make its process grow by our looks. */
  const int has_been_read = seen != NULL && seen->sp >> MIXSTACK_TABLE_SHIFT == sp >> MIXSTACK_TABLE_SHIFT;
  if (control.grown >= MIXSTACK_MOST_GROWN && !has_been_read) {
    out->flags |= MIXSTACK_NOT_COPIED;
    out->error = kNoMemory;
    return;
  }
  const long tables = bytes_of_tables(task->mm);
  const long failed =
      bpf_copy_from_user_task((char*)(out + 1) + settings.kernel_bytes, (unsigned int)size, (void*)begin, task, 0);
  if (bytes_of_tables(task->mm) > tables) control.grown++;
  if (failed != 0) {
    out->flags |= MIXSTACK_NOT_COPIED;
    out->error = -failed;
    return;
  }
  out->stack_base = begin;
  out->stack_size = size;
}

static __always_inline void copy(struct task_struct* task, struct mixstack_record* out, struct pt_regs* saved,
                                 struct seen* seen, struct found_extent* at) {
  bpf_probe_read_kernel(out->registers, kSavedBytes, saved);
  bpf_probe_read_kernel(out->comm, sizeof out->comm, task->comm);
  out->thread_pointer = THREAD_POINTER(task);
  out->system_call = SYSTEM_CALL(saved);
  out->flags = MIXSTACK_REGISTERS;
  out->kernel_size = 0;
  if (settings.kernel_bytes != 0) {
    const long size = bpf_get_task_stack(task, out + 1, settings.kernel_bytes, 0);
    if (size > 0) out->kernel_size = size;
  }
  if (settings.stack_bytes != 0) copy_stack(task, out, saved->sp, seen, at);
  out->size =
      sizeof *out + settings.kernel_bytes + ((out->stack_size + MIXSTACK_ALIGNMENT - 1) & ~(MIXSTACK_ALIGNMENT - 1u));
}

/* Whether the thread would be on a processor, had we not been given it: it was put aside at the very moment we came on
 * one (sched_info_switch in kernel/sched/stats.h takes one clock for both). */
static __always_inline int made_room_for_us(struct task_struct* task) {
  if (task->__state != 0 || !bpf_core_field_exists(task->sched_info)) return 0;
  struct task_struct* self = (struct task_struct*)bpf_get_current_task();
  const unsigned long long since = task->sched_info.last_queued;
  return since != 0 && since == BPF_CORE_READ(self, sched_info.last_arrival);
}

enum { kEndedSideBySide = 4 };
static const unsigned long long kNeverCopied = ~0ull; /* more often than any thread is switched */

/* What the last rounds learnt of the task. Threads that have ended since the last round make the places of all behind
 * them one less; who is not found is looked at as if it were new. */
static __always_inline struct seen* find_seen(struct task_struct* task, struct seen** place) {
  const unsigned int at = control.position++;
  const unsigned long long start_time = task->start_time;
  *place = bpf_map_lookup_elem(&last_copies, &at);
  for (unsigned int ended = 0; ended < kEndedSideBySide; ended++) {
    const unsigned int before = at + control.ended + ended;
    struct seen* seen = bpf_map_lookup_elem(&last_copies, &before);
    if (seen == NULL || seen->task != (unsigned long)task || seen->start_time != start_time) continue;
    control.ended += ended;
    if (control.ended == 0 || *place == NULL) return seen;
    **place = *seen;
    return *place;
  }
  return NULL;
}

/* Whatever happens to a thread that has no memory or is on a processor is told without a look. */
static __always_inline unsigned int flags_without_a_look(struct task_struct* task) {
  if (task->mm == NULL || task->exit_state != 0) return MIXSTACK_ENDING;
  if (is_on_cpu(task)) return MIXSTACK_ON_CPU;
  return settings.leaves_displaced && made_room_for_us(task) ? MIXSTACK_ON_CPU : 0;
}

/* Of a thread that is told for the first time: it counts as one that has run until there is a copy. */
static __always_inline void begin_seen(struct task_struct* task, const struct mixstack_record* out,
                                       struct seen* place) {
  if (place == NULL || !control.copies) return;
  place->task = (unsigned long)task;
  place->start_time = task->start_time;
  place->switches = kNeverCopied;
  place->tid = out->tid;
  place->ns_tid = out->ns_tid;
  place->own_pid = task->pid;
  place->mappings = 0;
}

static __always_inline int look(struct task_struct* task, struct mixstack_record* out, int is_full) {
  const unsigned long long switches = switches_of(task);
  out->flags = flags_without_a_look(task);
  fence();
  struct pt_regs* saved = (struct pt_regs*)bpf_task_pt_regs(task);
  const unsigned long long pc = PROGRAM_COUNTER(saved), sp = saved->sp;
  struct seen* place = NULL;
  struct seen* seen = find_seen(task, &place);
  struct found_extent at = {};
  const int has_run = seen == NULL || seen->switches != switches || seen->pc != pc || seen->sp != sp;
  if (seen != NULL && seen->own_pid == task->pid) {
    out->tid = seen->tid;
    out->ns_tid = seen->ns_tid;
  } else if (!name_task(task, out)) {
    control.position--;
    return 0;
  } else {
    begin_seen(task, out, place);
  }
  if (place != NULL && control.copies) place->state = out->state;
  if (out->flags != 0) return 1;
  if (!has_run)
    out->flags = MIXSTACK_UNCHANGED;
  else if (is_full)
    out->flags = MIXSTACK_NO_ROOM;
  else if (control.copies)
    copy(task, out, saved, seen, &at);
  fence();
  /* A thread that went on a processor after the first look is there still, or counts one switch more. */
  if (is_on_cpu(task) || switches_of(task) != switches) {
    out->flags = MIXSTACK_TORN;
    out->size = __builtin_offsetof(struct mixstack_record, stack_base);
    out->stack_size = 0;
    return 1;
  }
  /* What could not be copied is tried again. */
  if ((out->flags & (MIXSTACK_REGISTERS | MIXSTACK_NOT_COPIED)) != MIXSTACK_REGISTERS) return 1;
  seen = place;
  if (seen == NULL) return 1;
  seen->task = (unsigned long)task;
  seen->start_time = task->start_time;
  seen->switches = switches;
  seen->pc = pc;
  seen->sp = sp;
  seen->tid = out->tid;
  seen->ns_tid = out->ns_tid;
  seen->own_pid = task->pid;
  seen->mappings = at.mappings;
  seen->mm = at.mm;
  seen->extent = at.extent;
  return 1;
}

static __always_inline void tell(struct task_struct* task) {
  const unsigned int first = 0;
  char* all = bpf_map_lookup_elem(&records, &first);
  if (all == NULL) return;
  const unsigned long long at = control.used;
  if (at >= settings.room + MIXSTACK_SPARE_ROOM) {
    control.untold++;
    return;
  }
  struct mixstack_record* out = (struct mixstack_record*)(all + at);
  describe(task, out);
  if (!look(task, out, at >= settings.room)) return;
  control.used = at + out->size;
}

SEC("iter.s/task")
int look_at_task(struct bpf_iter__task* context) {
  struct task_struct* task = context->task;
  if (task != NULL) tell(task);
  return 0;
}

/* ---- Only who has run. Most threads of most processes wait all the time, and what costs of a look at such a thread is
 * that the kernel's memory of it is in no cache: this reads a third of it. */

extern int bpf_iter_task_new(struct bpf_iter_task* iterator, struct task_struct* task, unsigned int flags) __ksym;
extern struct task_struct* bpf_iter_task_next(struct bpf_iter_task* iterator) __ksym;
extern void bpf_iter_task_destroy(struct bpf_iter_task* iterator) __ksym;
extern struct task_struct* bpf_task_from_pid(int pid) __ksym;
extern void bpf_task_release(struct task_struct* task) __ksym;
extern void bpf_rcu_read_lock(void) __ksym;
extern void bpf_rcu_read_unlock(void) __ksym;

enum { kThreadsOfProcess = 2 }; /* BPF_TASK_ITER_PROC_THREADS */

struct moved {
  int pid;
  unsigned int position;
};
struct moved moved[MIXSTACK_MOST_MOVED] SEC(".bss.moved");

/* Whether it may not be what was told last. One that is ready to run is told each time: it may have got a processor and
 * lost it to us. */
static __always_inline int has_moved(struct task_struct* task, const struct seen* seen) {
  return seen->switches != switches_of(task) || is_on_cpu(task) || task->__state != seen->state || task->__state == 0;
}

static __always_inline void find_moved(struct task_struct* leader) {
  struct bpf_iter_task iterator;
  struct task_struct* task = NULL;
  bpf_iter_task_new(&iterator, leader, kThreadsOfProcess);
  while ((task = bpf_iter_task_next(&iterator)) != NULL) {
    const unsigned int position = control.position++;
    const struct seen* seen = bpf_map_lookup_elem(&last_copies, &position);
    if (seen == NULL || seen->task != (unsigned long)task || seen->start_time != task->start_time) {
      control.are_others = 1;
      break;
    }
    if (!has_moved(task, seen)) continue;
    const unsigned int at = control.moved++;
    if (at >= MIXSTACK_MOST_MOVED) {
      control.are_others = 1;
      break;
    }
    moved[at].pid = task->pid;
    moved[at].position = position;
  }
  bpf_iter_task_destroy(&iterator);
  if (control.position != control.known) control.are_others = 1;
}

/* One that has ended meanwhile is missed by the next round. */
static long tell_moved(unsigned int count, void* nothing) {
  (void)count, (void)nothing;
  const unsigned int at = control.told;
  if (at >= control.moved || at >= MIXSTACK_MOST_MOVED || control.used >= MIXSTACK_PART) return 1;
  control.told = at + 1;
  struct task_struct* task = bpf_task_from_pid(moved[at].pid);
  if (task == NULL) return 0;
  control.position = moved[at].position;
  tell(task);
  bpf_task_release(task);
  return 0;
}

/* Run again until all are told: their copies are read while they are in the processor's cache. */
SEC("syscall")
int look_at_moved(void* context) {
  (void)context;
  if (control.moved == 0) {
    struct task_struct* leader = bpf_task_from_pid((int)control.leader);
    control.are_others = leader == NULL;
    if (leader == NULL) return 0;
    bpf_rcu_read_lock();
    find_moved(leader);
    bpf_rcu_read_unlock();
    bpf_task_release(leader);
  }
  if (!control.are_others) bpf_loop(MIXSTACK_MOST_MOVED, tell_moved, NULL, 0);
  return 0;
}
