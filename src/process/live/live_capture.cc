// One stop. Input: a CaptureRequest, /proc, the last capture. Output: registers, stacks and runtime roots by instant.
// Algorithm: 1. prepare, while the process runs: list threads and mappings (the last ones if unchanged), skip kernel
// tasks, allocate and touch buffers, look up stack pages, rehearse the roots: so the stop is short. 2. stop, in the
// tracer: seize, interrupt and wait for all; read registers; copy the stacks of running threads and the roots and
// release these threads, then copy and release the waiting ones: a thread at work stands shortest. take_late captures
// threads that stop after that, each at its own instant. With `together`, all this is done in groups. 3. finish, after
// the stop: names, calls; state for the next capture.
// Bounds: stop_timeout, late_timeout (kLatePatiences of it), kGroupPatience; stack_byte_budget and initial_stack_bytes.
#include "process/live/live_capture.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <future>

#include "base/system/beside.h"
#include "base/system/shared_work.h"
#include "base/words/words.h"

namespace mixstack::process {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kSpareThreads = 64;  // born between the list and the stop
constexpr std::size_t kAsked = 32;         // threads whose use of stack is looked at for an estimate
constexpr std::size_t kMany = 64;          // threads for which it pays to do two things at a time
constexpr std::size_t kLeastUse = 1 << 10;
constexpr std::size_t kDescriptor = 2 << 10;  // of a thread (glibc's struct pthread), above its stack: it is not copied
constexpr std::size_t kSpareUse = 16 << 10;   // beyond what stacks take on average, and an eighth of it
constexpr std::size_t kUsualUse = 16 << 10;   // of a stack, where none can be looked at
constexpr std::size_t kMostUse = 256 << 10;
constexpr Address kUsualInitial = 64 << 10;
constexpr Address kUsualMost = 16 << 20;  // of a stack
constexpr std::size_t kShortList = 400;   // mappings whose text the kernel makes in some 100 us
constexpr int kLatePatiences = 5;         // of late_timeout, at most, while late threads keep coming
constexpr auto kGroupPatience = 2ms;      // one that has no processor must not hold up the others
constexpr auto kJustNow = 100ms;          // before the first capture: so that its mappings need not be listed again
constexpr auto kLateLook = 20ms;          // between looks at whether late threads can stop at all
const auto kNotRead = fail(ErrorCode::no_such_thread);

}  // namespace

/// One instant: the threads that stood still at the same time.
struct LiveCapture::Instant {
  Instant(const GuestMemory& memory, const TargetInfo& info, const CaptureRequest& request, RootReads& root_reads)
      : copies(memory, info, request, room), roots(root_reads) {}
  StackRoom room;
  StackCopies copies;
  RootReads& roots;
  std::unique_ptr<RootReads> own_roots;
  RegionList regions;
  std::chrono::nanoseconds late{0}, held{0};
};

LiveCapture::LiveCapture(const ProcDir& proc, const GuestMemory& memory, const TargetInfo& info,
                         const CaptureRequest& request, bool hold_all, ReadRegions read_regions, LastCapture& last)
    : proc_(proc),
      memory_(memory),
      info_(info),
      request_(request),
      hold_all_(hold_all),
      last_(last),
      read_regions_(std::move(read_regions)),
      code_query_(proc),
      roots_(memory, memory.in_stop()) {}

LiveCapture::~LiveCapture() = default;

/// The list is the same if it has as many threads as before and all of those are still there.
bool LiveCapture::list_as_before() {
  if (last_.all_threads.empty() || proc_.task_count() != last_.all_threads.size()) return false;
  auto stats = last_.stats.read(last_.all_threads);
  if (!std::all_of(stats.begin(), stats.end(), [](const auto& stat) { return stat.has_value(); })) return false;
  add_slots(last_.all_threads, std::move(stats));
  return true;
}

void LiveCapture::add_slots(const std::vector<ThreadId>& tids, std::vector<std::optional<ThreadStat>> stats) {
  slots_.reserve(tids.size() + kSpareThreads);
  if (request_.vectors) vectors_.resize(slots_.capacity());
  for (std::size_t i = 0; i < tids.size(); i++) {
    slots_.push_back({});
    slots_.back().tid = tids[i];
    if (i >= stats.size()) continue;
    if (stats[i]) slots_.back().stat = std::move(*stats[i]);
    slots_.back().name_file = last_.stats.name_files()[i];
  }
  listed_ = tids;
}

Result<void> LiveCapture::list_threads() {
  std::vector<ThreadId> tids = request_.threads;
  if (tids.empty()) {
    if ((!is_idle_ || request_.names) && list_as_before()) return {};
    auto all = proc_.tasks();
    if (!all) return fail(all.error());
    tids = std::move(*all);
    last_.all_threads = tids;
  }
  if (tids.empty()) return fail(ErrorCode::no_such_process, proc_.pid());
  // Tracing by id would reach any thread of the machine: threads of other processes are left out.
  if (!request_.threads.empty()) std::erase_if(tids, [this](ThreadId tid) { return !proc_.has_task(tid); });
  if (tids.empty()) return fail(ErrorCode::no_such_thread, request_.threads.front());
  // Which threads of an idle process run need not be known before, and their names can wait until they go on.
  if (is_idle_ && !request_.names) {
    add_slots(tids, {});
    return {};
  }
  last_.stats.suppose_waiting(is_idle_);
  add_slots(tids, last_.stats.read(tids));
  return {};
}

/// A stop would end the work of an io_uring worker with an error that no program expects. Asked once for each thread.
void LiveCapture::find_kernel_tasks() {
  const auto look = [this](std::size_t i) {
    Slot& slot = slots_[i];
    if (std::binary_search(last_.programs.begin(), last_.programs.end(), slot.tid)) return;
    if (slot.stat.state == '?') {
      auto stat = proc_.thread_stat(slot.tid);
      if (!stat) return;
      slot.kernel_task = proc_.kernel_task(slot.tid, *stat);
      if (slot.kernel_task != 0) slot.stat = std::move(*stat);
    } else {
      slot.kernel_task = proc_.kernel_task(slot.tid, slot.stat);
    }
  };
  base::for_each_of_many(slots_.size(), look);
  last_.programs.clear();
  for (const Slot& slot : slots_)
    if (slot.kernel_task == 0) last_.programs.push_back(slot.tid);
  std::sort(last_.programs.begin(), last_.programs.end());
}

/// The average stack use of waiting threads: how much of the buffer is worth touching beforehand.
std::size_t LiveCapture::estimate_usual_stack() const {
  std::size_t total = 0, asked = 0;
  const std::size_t step = slots_.size() / kAsked + 1;
  for (std::size_t i = 0; i < slots_.size(); i += step) {
    const Address sp = proc_.thread_stack_pointer(slots_[i].tid);
    const AddressRange extent = stack_extent(*regions_, sp, 0);
    if (sp == 0 || extent.empty()) continue;
    const Address above = slots_[i].tid == proc_.pid() ? 0 : std::min<Address>(kDescriptor, extent.end - sp);
    total += static_cast<std::size_t>(std::clamp<Address>(extent.end - sp - above, kLeastUse, kMostUse));
    asked++;
  }
  return asked == 0 ? kUsualUse : total / asked;
}

Result<void> LiveCapture::make_room() {
  const std::size_t threads = slots_.size() + kSpareThreads;
  const std::size_t initial = std::min<std::size_t>(request_.initial_stack_bytes, 1 << 30) + kRedZone;
  Instant& common = *instants_.front();
  common.copies.reserve(threads);
  if (last_.usual_stack == 0) last_.usual_stack = estimate_usual_stack();
  // Address space for all, pages only for what is sure to be used: stacks are packed from the front.
  const std::size_t most = threads * initial + request_.stack_byte_budget;
  const std::size_t usual = slots_.size() * last_.usual_stack;
  return common.room.prepare(most, usual + usual / 8 + kSpareUse, last_.room);
}

/// The same threads have the same Thread objects, usually.
void LiveCapture::expect_roots() {
  if (request_.roots == nullptr) return;
  if (!last_.roots.empty() && last_.threads == listed_) {
    roots_.expect(last_.roots);
  } else {
    roots_.rehearse(*request_.roots);
  }
}

/// Looks up stack pages before the stop, for stacks above a guard page; the stop looks up pages used since.
void LiveCapture::look_at_stacks() const {
  std::vector<AddressRange> stacks;
  const auto& regions = *regions_;
  for (std::size_t i = 1; i < regions.size() && stacks.size() < 2 * slots_.size(); i++) {
    const Region& r = regions[i];
    const bool has_guard = !regions[i - 1].readable && regions[i - 1].range.end == r.range.begin;
    if (has_guard && r.writable && !r.shared && r.inode == 0 && r.range.size() >= kUsualInitial)
      stacks.push_back(r.range);
  }
  const auto is_neighbour = [&](std::size_t i) {
    return stacks[i].begin - stacks[i - 1].end <= kUsualInitial && stacks[i].size() <= kUsualMost;
  };
  const memory::PageMap& pages = memory_.pages();
  for (std::size_t i = 0, end = 0; i < stacks.size(); i = end) {
    for (end = i + 1; end < stacks.size() && is_neighbour(end);) end++;
    if (end - i > 1 && pages.scan({stacks[i].end - kUsualInitial, stacks[end - 1].end})) continue;
    for (std::size_t n = i; n < end; n++) (void)pages.run({stacks[n].end - kUsualInitial, stacks[n].end});
  }
}

/// A stop must be short: if more than usual is asked for (a stack had holes), swapped pages are fetched before it.
void LiveCapture::bring_back_stacks() const {
  if (request_.initial_stack_bytes <= kUsualInitial) return;
  for (const Slot& slot : slots_) {
    const Address sp = proc_.thread_stack_pointer(slot.tid);
    const AddressRange extent = stack_extent(*regions_, sp, 0);
    if (!extent.empty()) memory_.bring_back({sp, std::min(extent.end, sp + request_.initial_stack_bytes)});
  }
}

/// Whether mappings listed outside a capture still hold: they are recent, and the same code is mapped.
bool LiveCapture::were_just_listed() {
  if (std::chrono::steady_clock::now() - *last_.listed_at > kJustNow) return false;
  const auto code = mapped_code(*last_.regions);
  found_.reserve(code.size() + kSpareThreads);
  return code_query_.ask(found_).has_value() && found_ == code;
}

/// The last list is used again if threads and sizes are the same; the stop notices code that took another's place.
Result<void> LiveCapture::find_mappings() {
  sizes_ = proc_.mapped_sizes();
  const bool is_usable = last_.regions != nullptr && sizes_.all != 0 && sizes_ == last_.sizes;
  if (is_usable && (last_.listed_at ? were_just_listed() : last_.threads == listed_)) {
    regions_ = last_.regions;
  } else {
    auto regions = read_regions_();
    if (!regions) return fail(regions.error());
    regions_ = std::make_shared<const std::vector<Region>>(std::move(*regions));
  }
  code_ = mapped_code(*regions_);
  found_.reserve(code_.size() + kSpareThreads);
  return {};
}

Result<void> LiveCapture::prepare() {
  is_idle_ = last_.use.is_at_rest();
  // The runtime's roots do not depend on the list of threads, unless both are known from before.
  const std::size_t tasks = last_.roots.empty() && request_.roots != nullptr ? proc_.task_count() : 0;
  std::future<void> first_roots;
  base::Beside beside;
  if (tasks >= kMany) {
    if (!is_idle_ || request_.names) last_.stats.expect(tasks);
    first_roots = beside.run([this] { roots_.rehearse(*request_.roots); });
  }
  if (auto listed = list_threads(); !listed) return fail(listed.error());
  find_kernel_tasks();
  if (auto found = find_mappings(); !found) return fail(found.error());
  instants_.push_back(std::make_unique<Instant>(memory_, info_, request_, roots_));
  // make_room runs meanwhile.
  const auto look = [&, this] {
    bring_back_stacks();
    look_at_stacks();
    if (first_roots.valid())
      first_roots.get();
    else
      expect_roots();
  };
  auto others = slots_.size() < kMany ? std::async(std::launch::deferred, look) : beside.run(look);
  auto room = make_room();
  others.get();
  if (!room) return fail(room.error());
  return {};
}

/// If the comm file we opened earlier is still readable, the TID was not reused: the seized thread is the right one.
void LiveCapture::read_names(std::size_t begin) {
  constexpr std::size_t kLongest = 15;  // TASK_COMM_LEN without its end: a string of ours needs no memory for it
  const auto threads = stopper_->threads();
  for (std::size_t i = begin; i < threads.size() && i < slots_.size(); i++) {
    if (slots_[i].name_file < 0 || threads[i].phase != StopPhase::pending) continue;
    std::array<char, kLongest + 1> text;
    const ssize_t n = ::pread(slots_[i].name_file, text.data(), text.size(), 0);
    // The kernel ends it by a newline, and it may hold others.
    if (n > 0) slots_[i].stat.comm.assign(text.data(), static_cast<std::size_t>(n) - 1);
    if (n <= 0) stopper_->check_owner(threads[i]);
  }
}

void LiveCapture::seize(std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < std::min(end, slots_.size()); i++) {
    const Slot& slot = slots_[i];
    if (slot.kernel_task != 0)
      stopper_->pass_over(slot.tid, slot.kernel_task);
    else
      stopper_->seize(slot.tid, slot.stat.state == 'R', slot.name_file >= 0);
  }
  read_names(begin);
}

Result<void> LiveCapture::seize_all() {
  // If some threads cannot be seized, report each; if none can, fail the capture.
  const auto threads = stopper_->threads();
  const auto is_refused = [](const StoppedThread& t) {
    return t.phase == StopPhase::refused || t.phase == StopPhase::gone;
  };
  if (!std::all_of(threads.begin(), threads.end(), is_refused)) return {};
  for (const auto& t : threads)
    if (t.error.code != ErrorCode::no_such_thread && !words::is_kernel_task(t.error)) return fail(t.error);
  if (request_.threads.empty()) return fail(ErrorCode::no_such_process, proc_.pid());
  return {};
}

/// For threads that stand still and are in no instant yet.
void LiveCapture::read_registers() {
  const auto threads = stopper_->threads();
  for (std::size_t i = slots_.size(); i < threads.size(); i++) {
    slots_.push_back({});
    slots_.back().tid = threads[i].tid;
  }
  for (std::size_t i = 0; i < threads.size(); i++) {
    if (threads[i].phase != StopPhase::stopped || threads[i].is_foreign || slots_[i].instant != nullptr) continue;
    auto& registers = slots_[i].registers;
    registers = read_thread_registers(static_cast<pid_t>(threads[i].tid));
    if (registers && registers->syscall < 0) threads[i].is_running = true;
    // The process was at rest, so a thread in a call waited. Its result may not show it (a half-done send).
    if (registers && slots_[i].stat.state == '?')
      slots_[i].stat.state = threads[i].is_in_job_stop ? 'T' : registers->syscall >= 0 ? 'S' : 'R';
    if (registers && !pac_mask_) pac_mask_ = read_pac_mask(static_cast<pid_t>(threads[i].tid));
    if (registers && i < vectors_.size()) read_thread_vectors(static_cast<pid_t>(threads[i].tid), vectors_[i]);
  }
}

void LiveCapture::add_copies(Instant& instant, bool of_running) {
  const auto threads = stopper_->threads();
  for (std::size_t i = 0; i < threads.size(); i++) {
    Slot& slot = slots_[i];
    if (!slot.registers || slot.instant != nullptr || threads[i].is_running != of_running) continue;
    slot.instant = &instant;
    slot.copy = instant.copies.add(threads[i].tid, *slot.registers);
  }
}

/// The instant's mappings are those of the stop, since libraries come and go; usually nothing has changed.
void LiveCapture::follow_mappings(Instant& instant) {
  instant.regions = instants_.front()->regions ? instants_.front()->regions : regions_;
  const auto asked = code_query_.ask(found_);
  is_code_told_ = asked.has_value();
  const bool is_unknown = !asked && regions_->size() <= kShortList;
  if (!is_unknown && (!asked || found_ == code_)) return;
  auto now = read_regions_();
  if (!now) return;
  instant.regions = std::make_shared<const std::vector<Region>>(std::move(*now));
  code_ = mapped_code(*instant.regions);
}

void LiveCapture::copy_and_release() {
  Instant& instant = *instants_.front();
  read_registers();
  add_copies(instant, true);
  const std::size_t running = instant.copies.size();
  add_copies(instant, false);
  tracer_->begin_read();
  follow_mappings(instant);
  instant.copies.plan(*instant.regions);
  instant.copies.copy(0, running, *instant.regions);
  if (request_.roots != nullptr) roots_.read(*request_.roots);
  tracer_->end_read();
  if (!hold_all_) stopper_->release_running();
  tracer_->begin_read();
  instant.copies.copy(running, instant.copies.size(), *instant.regions);
  tracer_->end_read();
  stopper_->release_all();
}

/// Copies the threads that stand still and releases them. If these are all, the runtimes' roots are of that instant.
void LiveCapture::take_group(Instant& instant, std::vector<Clock::time_point>& since) {
  is_one_group_ = request_.roots != nullptr && instant.copies.size() == 0 && slots_.size() <= request_.together &&
                  !stopper_->has_pending();
  if (!stopper_->has_execed()) copy_group(instant);
  if (is_one_group_ && !stopper_->has_execed()) {
    tracer_->begin_read();
    follow_mappings(instant);
    roots_.read(*request_.roots);
    tracer_->end_read();
  }
  since.clear();
  for (const StoppedThread& t : stopper_->threads())
    if (t.phase == StopPhase::stopped) since.push_back(t.moved_until);
  stopper_->release_all();
  const auto now = Clock::now();
  for (const Clock::time_point moment : since) {
    pause_ = std::max<std::chrono::nanoseconds>(pause_, now - moment);
    held_ += now - moment;
  }
}

void LiveCapture::copy_group(Instant& instant) {
  const std::size_t first = instant.copies.size();
  read_registers();
  add_copies(instant, true);
  add_copies(instant, false);
  tracer_->begin_read();
  instant.copies.plan(*regions_, first);
  instant.copies.copy(first, instant.copies.size(), *regions_);
  tracer_->end_read();
}

/// Each group is seized just before its stop: a traced thread stops at every signal. Late ones join a later group.
void LiveCapture::stop_in_groups() {
  tracer_->come_first();
  Instant& instant = *instants_.front();
  const auto end = Clock::now() + request_.stop_timeout + request_.late_timeout;
  const std::size_t all = slots_.size();
  std::vector<Clock::time_point> since;
  since.reserve(all);
  for (std::size_t at = 0; at < all && !stopper_->has_execed() && Clock::now() < end; at += request_.together) {
    const auto begin = Clock::now();
    seize(at, at + request_.together);
    stopper_->interrupt(at, at + request_.together);
    (void)stopper_->wait_until_stopped(at, at + request_.together, begin + kGroupPatience);
    take_group(instant, since);
  }
  // Waiting for threads that have no processor holds no other thread.
  const auto patience = std::min(end, Clock::now() + request_.late_timeout);
  while (stopper_->has_pending() && !stopper_->has_execed() && stopper_->wait_for_any(patience))
    take_group(instant, since);
  if (!is_one_group_) follow_mappings(instant);
  if (auto seized = seize_all(); !seized) error_ = seized.error();
  if (stopper_->has_execed()) error_ = {ErrorCode::process_changed, 0, proc_.pid()};
  note_missing();
  stopper_->release_late();
}

void LiveCapture::take_late_ones_that_stand(Clock::time_point begin) {
  const auto now = Clock::now();
  auto own_roots = std::make_unique<RootReads>(roots_.again());
  instants_.push_back(std::make_unique<Instant>(memory_, info_, request_, *own_roots));
  Instant& instant = *instants_.back();
  instant.own_roots = std::move(own_roots);
  instant.late = now - begin;
  read_registers();
  add_copies(instant, true);
  add_copies(instant, false);
  tracer_->begin_read();
  follow_mappings(instant);
  instant.copies.plan(*instant.regions);
  instant.copies.copy(0, instant.copies.size(), *instant.regions);
  if (request_.roots != nullptr) instant.roots.read(*request_.roots);
  tracer_->end_read();
  stopper_->release_all();
  instant.held = Clock::now() - now;
}

/// A thread in an uninterruptible sleep waits for a device, or for a child that it made by vfork, however long.
bool LiveCapture::all_wait_uninterruptibly() {
  for (const auto& t : stopper_->threads()) {
    if (t.phase != StopPhase::pending) continue;
    const auto stat = proc_.thread_stat(t.tid);
    if (stat && stat->state != 'D') return false;
  }
  return true;
}

/// Waiting for ready threads without a CPU hurts nobody. Under a quota they come a few a period: each extends the wait.
void LiveCapture::take_late(Clock::time_point begin) {
  const auto patience = std::max(request_.late_timeout, request_.stop_timeout);
  const auto last = begin + kLatePatiences * patience;
  auto end = begin + patience;
  int looks_in_vain = 0;
  auto next_look = Clock::now();
  while (stopper_->has_pending() && !stopper_->has_execed()) {
    const auto now = Clock::now();
    if (now >= next_look) {
      looks_in_vain = all_wait_uninterruptibly() ? looks_in_vain + 1 : 0;
      next_look = now + kLateLook;
    }
    if (now >= end || looks_in_vain >= 2) return;
    if (!stopper_->wait_for_any(std::min(end, now + kLateLook))) continue;
    take_late_ones_that_stand(begin);
    end = std::min(last, Clock::now() + patience);
  }
}

void LiveCapture::note_missing() {
  const auto threads = stopper_->threads();
  for (std::size_t i = 0; i < threads.size() && i < slots_.size(); i++) {
    if (threads[i].phase != StopPhase::pending) continue;
    slots_[i].stat = proc_.thread_stat(threads[i].tid).value_or(slots_[i].stat);
    slots_[i].syscall = proc_.thread_syscall(threads[i].tid);
  }
}

/// A thread that waits for our turn on its CPU to end cannot stop: with two CPUs one stop in ten took 3 ms longer.
void LiveCapture::leave_their_cpus() const {
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  for (const Slot& s : slots_)
    if (s.stat.state == 'R' && s.stat.cpu >= 0) CPU_CLR(static_cast<unsigned>(s.stat.cpu), &allowed);
  if (CPU_COUNT(&allowed) > 0) (void)::sched_setaffinity(0, sizeof allowed, &allowed);
}

void LiveCapture::stop(Tracer& tracer) {
  tracer_ = &tracer;
  stopper_.emplace(proc_, tracer);
  stopper_->reserve(slots_.size() + kSpareThreads);
  leave_their_cpus();
  if (request_.together != 0) return stop_in_groups();
  seize(0, slots_.size());
  if (auto seized = seize_all(); !seized) {
    error_ = seized.error();
    return;
  }
  const auto begin = Clock::now();
  stopper_->interrupt_all();
  const bool all = stopper_->wait_until_stopped(begin + request_.stop_timeout, request_.threads.empty());
  if (!stopper_->has_execed()) copy_and_release();
  stopper_->release_all();
  pause_ = Clock::now() - begin;
  if (!all) take_late(begin);
  if (stopper_->has_execed()) error_ = {ErrorCode::process_changed, 0, proc_.pid()};
  note_missing();
  stopper_->release_late();
}

ThreadCapture LiveCapture::describe(const StoppedThread& t, Slot& slot) const {
  ThreadCapture out;
  out.tid = t.tid;
  out.ns_tid = proc_.in_other_pid_namespace() ? proc_.namespace_tid(t.tid) : t.tid;
  const bool is_named = !slot.stat.comm.empty() || (is_idle_ && !request_.names && slot.registers);
  if (slot.stat.state == '?' || !is_named) slot.stat = proc_.thread_stat(t.tid).value_or(ThreadStat{});
  out.comm = slot.stat.comm;
  out.kernel_state = slot.stat.state;
  out.pending_signal = t.signal;
  if (slot.registers && slot.instant != nullptr) {
    out.captured = true;
    out.registers = slot.registers->registers;
    out.syscall = system_call_number(*slot.registers, memory_);
    out.kernel_state = state_at_stop(*slot.registers, out.syscall, out.kernel_state);
    out.late = slot.instant->late;
    slot.instant->copies.describe(slot.copy, out);
    const auto index = static_cast<std::size_t>(&slot - slots_.data());
    if (index < vectors_.size()) out.vectors = shared_vectors(decode_vectors(info_.arch, vectors_[index].used()));
    return out;
  }
  out.error = t.error.code != ErrorCode::none ? t.error : slot.registers.error();
  if (t.phase != StopPhase::pending) return out;
  out.syscall = slot.syscall;
  out.error = {ErrorCode::thread_not_stopped, 0, t.tid};
  return out;
}

void LiveCapture::hand_over(Instant& instant, Capture& capture) const {
  capture.arch = info_.arch;
  capture.pac_mask = pac_mask_.value_or(0);
  capture.regions = instant.regions;
  instant.copies.hand_over(capture);
  instant.room.hand_over(capture);
  instant.roots.hand_over(capture);
}

void LiveCapture::leave_for_the_next() {
  const Instant& common = *instants_.front();
  if (request_.threads.empty() && common.copies.size() > 0)
    last_.usual_stack = common.room.used() / common.copies.size();
  last_.regions = is_code_told_ && common.regions == regions_ ? regions_ : nullptr;
  last_.sizes = sizes_;
  last_.listed_at.reset();
  const bool is_all_known = request_.roots != nullptr && roots_.was_expected();
  last_.roots = is_all_known ? roots_.ranges() : std::vector<AddressRange>{};
  std::vector<ThreadId> waiting;
  waiting.reserve(slots_.size());
  for (const Slot& slot : slots_)
    if (slot.registers && slot.registers->was_waiting) waiting.push_back(slot.tid);
  last_.stats.expect_waiting(waiting);
  last_.threads = std::move(listed_);
  last_.use = UsageMeter(proc_.pid());
}

Result<Capture> LiveCapture::finish() {
  if (error_.code != ErrorCode::none) return fail(error_);
  if (!stopper_) return fail(ErrorCode::internal);
  std::vector<Capture> captures(instants_.size());
  leave_for_the_next();
  const auto threads = stopper_->threads();
  const bool whole_process = request_.threads.empty();
  bool any = false;
  for (std::size_t i = 0; i < threads.size(); i++) {
    const StoppedThread& t = threads[i];
    if (i >= slots_.size()) slots_.push_back({});
    Slot& slot = slots_[i];
    // A thread that ended by itself before the stop is no part of the instant captured, unless somebody asked for it.
    if (t.is_foreign || (whole_process && !slot.registers && t.phase == StopPhase::gone)) continue;
    if (t.phase == StopPhase::pending) captures.front().threads_not_stopped++;
    const auto at = std::find_if(instants_.begin(), instants_.end(),
                                 [&](const auto& instant) { return instant.get() == slot.instant; });
    const auto index = at == instants_.end() ? 0 : static_cast<std::size_t>(at - instants_.begin());
    captures[index].threads.push_back(describe(t, slot));
    any = true;
  }
  if (!any) return fail(ErrorCode::no_such_process, proc_.pid());
  for (std::size_t i = 0; i < instants_.size(); i++) {
    if (instants_[i]->regions == nullptr) instants_[i]->regions = regions_;
    hand_over(*instants_[i], captures[i]);
    captures[i].pause = i == 0 ? pause_ : instants_[i]->held;
    captures[i].held = held_;
    if (request_.together != 0 && !is_one_group_) captures[i].consistency = Consistency::not_stopped;
  }
  Capture capture = std::move(captures.front());
  for (std::size_t i = 1; i < captures.size(); i++)
    if (!captures[i].threads.empty()) capture.late.push_back(std::move(captures[i]));
  return capture;
}

}  // namespace mixstack::process
