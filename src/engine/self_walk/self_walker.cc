// Input: options, then a signal's context or registers. Output: `SelfTrace`, and addresses in the caller's span.
// Algorithm: (1) `create` allocates everything, and walks once, so that later walks neither allocate nor bind symbols;
// (2) `walk` finds the bounds of the thread's stack, since memory within them needs no probing: as added by the thread,
// or learned by probing pages up to its control block; (3) code interrupted on a foreign stack is the only frame; (4)
// `Walk::steps` walks with pc, sp and frame pointer; (5) if a rule needs another register, it starts again with all of
// them; (6) `refresh` replaces full tables by larger ones, and keeps the old for running walks.
// Bounds: `kMostTables` tables of `kLeastRules` to `kMostRules` rules, `kMostMainStack`, `kMostLearned` bytes probed
// for a thread, `kMostOfHandler` bytes of a handler's frames.
#include "mixstack/self_walk.h"

#include <pthread.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include <bit>
#include <csignal>
#include <mutex>
#include <vector>

#include "base/memory/pointer_authentication.h"
#include "base/memory/system_call.h"
#include "engine/self_walk/thread_stacks.h"
#include "engine/self_walk/walk.h"

// The start of the main thread's stack (glibc); saves reading /proc/self/maps. Missing in other libcs.
extern "C" [[gnu::weak]] void* __libc_stack_end;  // NOLINT: the name is glibc's

namespace mixstack {
namespace self_walk {
namespace {

constexpr std::size_t kLeastRules = 256, kMostRules = 4 << 20;
constexpr std::size_t kGrowth = 4;
constexpr std::size_t kWorthwhile = self_walk::ModuleRecords::kMost / 4;  // images that have gone, for new tables
constexpr std::size_t kMostTables = 64;
constexpr Address kMostMainStack = 64 << 20;
constexpr Address kPage = 4096;
constexpr Address kMostLearned = 64 << 20;  // one page probe per 4 KiB, once a thread
constexpr Address kMostOfHandler = 64 << 10;

[[nodiscard]] bool is_main_thread() { return memory::system_call(SYS_gettid) == memory::system_call(SYS_getpid); }

/// The bounds of the main thread's stack, or an empty range.
[[nodiscard]] AddressRange main_stack() {
  const bool is_glibc = &__libc_stack_end != nullptr && __libc_stack_end != nullptr;
  // Without glibc: the kernel puts the program's name behind the first frame (create_elf_tables in fs/binfmt_elf.c).
  const Address end = is_glibc ? reinterpret_cast<std::uintptr_t>(__libc_stack_end) : ::getauxval(AT_EXECFN);
  if (end == 0) return {};
  // Only memory above the sp of a walk is read, so the lower bound must only exclude other stacks: the kernel maps
  // nothing within the size limit of the stack, nor within 128 MiB (Linux, mmap_base in mm/util.c).
  rlimit limit{};
  if (getrlimit(RLIMIT_STACK, &limit) != 0) return {};
  return {end - std::min<Address>(limit.rlim_cur, kMostMainStack), end};
}

[[nodiscard]] bool is_on_alternate_stack(const void* context, Address sp) {
  const stack_t& alternate = static_cast<const ucontext_t*>(context)->uc_stack;
  return (alternate.ss_flags & SS_DISABLE) == 0 &&
         sp - reinterpret_cast<std::uintptr_t>(alternate.ss_sp) < alternate.ss_size;
}

/// The bounds of the calling thread's stack, or an empty range.
[[nodiscard]] AddressRange own_stack() {
  if (is_main_thread())
    if (const AddressRange stack = main_stack(); !stack.empty()) return stack;
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return {};
  void* begin = nullptr;
  std::size_t size = 0;
  AddressRange stack;
  if (pthread_attr_getstack(&attributes, &begin, &size) == 0)
    stack = {reinterpret_cast<std::uintptr_t>(begin), reinterpret_cast<std::uintptr_t>(begin) + size};
  (void)pthread_attr_destroy(&attributes);
  return stack;
}

/// The initial objects, as the dynamic linker reports them to walks.
[[nodiscard]] std::vector<LoadedObject> found_initial_objects(const ObjectFinder& finder) {
  std::vector<LoadedObject> objects = initial_objects();
  std::erase_if(objects, [&](LoadedObject& o) { return !finder.find(o.range.begin, o); });
  return objects;
}

}  // namespace
}  // namespace self_walk

using self_walk::Tables;
using self_walk::Walk;

struct SelfWalker::Shared {
  explicit Shared(const Options& options)
      : threads(options.threads),
        code(options.code),
        outer(options.outer),
        frame_pointers(options.frame_pointers),
        learns_stacks(options.learns_stacks) {}

  [[nodiscard]] bool make_tables(std::size_t rules) {
    self_walk::ObjectFinder finder;
    auto initial = self_walk::found_initial_objects(finder);
    auto made = std::make_unique<Tables>(rules, std::move(finder), std::move(initial));
    if (!made->is_usable() || !threads.is_usable()) return false;
    tables.store(made.get(), std::memory_order_release);
    kept.push_back(std::move(made));
    return true;
  }
  [[nodiscard]] Walk begin_walk(std::span<Address> out, bool begins_inside) const {
    const AddressRange stack = threads.find(self_walk::host::thread_pointer());
    return begin_walk(out, begins_inside, stack, self_walk::host::stack_pointer(), false);
  }
  [[nodiscard]] Walk begin_walk(std::span<Address> out, bool begins_inside, AddressRange stack, Address own,
                                bool only_own) const {
    return Walk({probe, stack, own, only_own, pac_mask, code, frame_pointers}, *tables.load(std::memory_order_acquire),
                out, begins_inside);
  }
  /// The known part of the calling thread's stack, for a walk that begins at `sp`, where a signal interrupted.
  [[nodiscard]] AddressRange stack_at(Address sp, const void* context) {
    const Address thread_pointer = self_walk::host::thread_pointer();
    const AddressRange known = threads.find(thread_pointer);
    if (!learns_stacks) return known;
    // A handler on the interrupted stack is known to run there itself; one on an alternate stack proves nothing.
    const Address own = reinterpret_cast<std::uintptr_t>(context);
    const bool is_apart = self_walk::is_on_alternate_stack(context, own);
    if (!is_apart && (own > sp || sp - own > self_walk::kMostOfHandler)) return {};
    const Address lowest = is_apart ? sp : own;
    if (known.contains(lowest) || (is_apart && self_walk::is_on_alternate_stack(context, sp))) return known;
    return learn(thread_pointer, known, lowest);
  }
  /// The stack that contains `lowest`; empty: that is not on the thread's stack. The C library ends each stack with the
  /// thread's control block, and no page above the used part is missing.
  [[gnu::noinline]] AddressRange learn(Address thread_pointer, AddressRange known, Address lowest) {
    if (!main.empty() && self_walk::is_main_thread()) {
      if (!main.contains(lowest)) return {};
      (void)threads.add(thread_pointer, main);
      return main;
    }
    if (lowest >= thread_pointer || thread_pointer - lowest > self_walk::kMostLearned) return {};
    const Address floor = threads.floor(thread_pointer);
    if (lowest < floor) return {};
    const bool is_first = known.end != thread_pointer;
    const Address begin = lowest & ~(self_walk::kPage - 1);
    // Pages found once stay as long as the thread: only those below are probed.
    Address page = is_first ? (thread_pointer & ~(self_walk::kPage - 1)) + self_walk::kPage : known.begin;
    while (page > begin && probe.is_readable(page - self_walk::kPage)) page -= self_walk::kPage;
    const bool is_whole = page <= begin;
    (void)threads.add(thread_pointer, {page, thread_pointer}, is_whole ? floor : page);
    return is_whole ? AddressRange{page, thread_pointer} : AddressRange{};
  }

  /// Whether code at `sp` runs on no stack of the calling thread. `stack`: the result of `stack_at`.
  [[nodiscard]] bool is_foreign(Address sp, AddressRange stack, const void* context) const {
    return learns_stacks && !stack.contains(sp) && !self_walk::is_on_alternate_stack(context, sp);
  }

  memory::PageProbe probe = memory::PageProbe::find_way();
  std::uint64_t pac_mask = memory::own_pac_mask();
  self_walk::ThreadStacks threads;
  const self_walk::CodeRules* code;
  const self_walk::OuterFrames* outer;
  bool frame_pointers;
  bool learns_stacks;
  AddressRange main = self_walk::main_stack();
  std::atomic<Tables*> tables{nullptr};
  std::mutex mutex;
  std::vector<std::unique_ptr<Tables>> kept;  ///< walks may still use older ones
};

SelfWalker::SelfWalker(std::unique_ptr<Shared> shared) : shared_(std::move(shared)) {}
SelfWalker::~SelfWalker() = default;

Result<std::unique_ptr<SelfWalker>> SelfWalker::create(const Options& options) {
  if (options.rules > self_walk::kMostRules) return fail(ErrorCode::limit_exceeded, self_walk::kMostRules);
  auto shared = std::make_unique<Shared>(options);
  if (!shared->make_tables(std::bit_ceil(std::max(options.rules, self_walk::kLeastRules))))
    return fail(ErrorCode::limit_exceeded, options.rules);
  std::unique_ptr<SelfWalker> walker(new SelfWalker(std::move(shared)));
  (void)walker->add_thread();
  // Walk once outside of any handler, to bind every function that a walk calls: the dynamic linker binds lazily, with
  // locks.
  std::array<Address, 8> unused{};
  (void)walker->walk_here(unused);
  return walker;
}

SelfTrace SelfWalker::walk(const void* context, std::span<Address> out,
                           std::span<std::uint32_t> owners) const noexcept {
  const unwind::LightFrame frame = self_walk::host::light_frame(context);
  const AddressRange stack = shared_->stack_at(frame.sp, context);
  if (shared_->is_foreign(frame.sp, stack, context)) {
    if (out.empty()) return {};
    out[0] = frame.pc.raw();
    if (owners.size() >= out.size()) owners[0] = self_walk::CodeRules::kUnknownOwner;
    return {.count = 1, .stop = StopReason::foreign_stack, .sure = 1};
  }
  // The kernel puts the context onto the stack that the handler was called on; the handler may have left that stack.
  const Address own = reinterpret_cast<std::uintptr_t>(context);
  Walk walk = shared_->begin_walk(out, false, stack, own, shared_->learns_stacks);
  if (owners.size() >= out.size()) walk.tell_owners(owners.data());
  walk.ask_outer_frames(shared_->outer);
  walk.steps(frame);
  if (walk.needs_all_registers()) {
    walk.begin_again();
    walk.careful_steps(self_walk::host::registers_of(context), frame.pc);
  }
  return walk.finish();
}

[[gnu::noinline]] SelfTrace SelfWalker::walk_here(std::span<Address> out) const noexcept {
  self_walk::HereRegisters here;
  self_walk::mixstack_capture_here(&here);
  Walk walk = shared_->begin_walk(out, true);
  const unwind::LightFrame frame = self_walk::host::light_frame(here);
  walk.steps(frame);
  if (walk.needs_all_registers()) {
    walk.begin_again();
    walk.careful_steps(self_walk::host::registers_of(here), frame.pc);
  }
  return walk.finish();
}

SelfTrace SelfWalker::walk_registers(const Registers& registers, std::span<Address> out) const noexcept {
  if (registers.arch() != self_walk::host::arch()) return {0, StopReason::register_unknown, 0, 0, 0, 0};
  Walk walk = shared_->begin_walk(out, false);
  walk.steps(unwind::LightFrame::innermost(registers));
  if (walk.needs_all_registers()) {
    walk.begin_again();
    walk.careful_steps(registers, CodeAddress::exact(registers.pc()));
  }
  return walk.finish();
}

Result<void> SelfWalker::add_thread() {
  const AddressRange stack = self_walk::own_stack();
  if (stack.empty()) return fail(ErrorCode::not_found);
  if (!shared_->threads.add(self_walk::host::thread_pointer(), stack)) return fail(ErrorCode::limit_exceeded);
  return {};
}

void SelfWalker::remove_thread() { shared_->threads.remove(self_walk::host::thread_pointer()); }

void SelfWalker::forget(AddressRange code) {
  const std::lock_guard lock(shared_->mutex);
  arch::dispatch(self_walk::host::arch(), [&]<Arch A>() {
    for (const auto& tables : shared_->kept) tables->forget<A>(code);
  });
}

Result<void> SelfWalker::refresh() {
  const std::lock_guard lock(shared_->mutex);
  Tables& present = *shared_->tables.load(std::memory_order_relaxed);
  const bool is_crowded = present.replaced() > present.rules() / 4 && present.rules() < self_walk::kMostRules;
  present.finder().update();
  // A full list of images is begun anew, in tables of the same size, where that makes room: many of them have gone. In
  // a process that has more images than the list takes, the rules of the others are found each time.
  const bool has_room_to_make =
      present.modules().is_full() && present.modules().gone(present.finder()) >= self_walk::kWorthwhile;
  if (!is_crowded && !has_room_to_make) return {};
  // Running walks keep the tables they began with, so old ones stay. Crowded tables grow fourfold: all old ones
  // together are a third of the last.
  if (shared_->kept.size() >= self_walk::kMostTables) return fail(ErrorCode::limit_exceeded, self_walk::kMostTables);
  if (!shared_->make_tables(is_crowded ? present.rules() * self_walk::kGrowth : present.rules()))
    return fail(ErrorCode::limit_exceeded, present.rules());
  return {};
}

}  // namespace mixstack
