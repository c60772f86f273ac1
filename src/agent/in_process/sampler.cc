// Input: SIGPROF of CPU timers and of our ticks of wall time, in every thread of the process; the rules of KnownCode.
// Output: samples, passed to Hooks::sample on our own thread.
// Algorithm: in the handler: 1. count it in `inside_` before reading `in_use_`, so that `end` can wait for handlers.
// 2. Switch to a stack of our own. 3. Repeat an interrupted call first, so that the innermost frame is at the call.
// 4. Reserve a slot of the ring, walk into it, commit. 5. Enlarge the alternate stack last, since the walk uses it.
// On our thread: `look_at_threads` lists threads for timers and ticks; `tick` counts a thread that has not run by its
// last sample and sends others a signal; `drain` empties the ring.
// Bounds: kRing samples (more are counted as lost); Sample::kMostFrames, in DeepStack kMostRunningFrames or kMostFrames
// per walk; CpuBudget and `wall_threads` per tick; listing takes at most 1/kLookShare of the time; kRoomTime, kEndTime.
#include "agent/in_process/sampler.h"

#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>
#include <utility>
#include <vector>

#include "agent/in_process/fault_relay.h"
#include "agent/in_process/tasks.h"
#include "agent/in_process/thread_clock.h"
#include "base/memory/system_call.h"
#include "engine/self_walk/host.h"

namespace mixstack::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr std::size_t kRing = 1024;
constexpr std::size_t kRules = 1 << 15;
constexpr std::size_t kThreads = 4096;
constexpr int kSignal = SIGPROF;
constexpr milliseconds kDrainEvery{20}, kRefreshEvery{100};
/// Interval of listing threads; longer if the list is long, so that it takes a hundredth of the time at most.
constexpr milliseconds kLookEvery{100};
constexpr int kLookShare = 100;
constexpr milliseconds kEndTime{2000};
constexpr milliseconds kRoomTime{250};

constexpr std::size_t kMostRunningFrames = 4096;
/// As Sample::knowledge, differs from every real value: the walk lacked room, not knowledge, so look again.
constexpr std::uint64_t kLooksAgain = ~std::uint64_t{0};

/// Combined with the mark in si_value of the signals we send. The first two are ticks of wall time, the third is of
/// `make_room`. The timers' si_value is the mark itself.
constexpr std::uintptr_t kRunning = 1, kWaiting = 2, kRoom = 3;

[[nodiscard]] WaitSample wait_sample(const Sample& sample) {
  WaitSample seen;
  seen.pc = sample.addresses[0];
  seen.sp = sample.sp;
  seen.was_cut_short = sample.was_cut_short;
  // A foreign stack (a fiber) ends there, whatever is known: no doubt.
  seen.is_in_doubt =
      sample.doubtful != 0 || (sample.stop != StopReason::end_of_stack && sample.stop != StopReason::foreign_stack);
  seen.frames = sample.count;
  seen.knowledge = sample.knowledge;
  return seen;
}

/// Its address identifies our signals: nobody else sends it.
alignas(8) constinit char mark[8] = {};

}  // namespace

std::atomic<Sampler*> Sampler::in_use_{nullptr};
std::atomic<std::uint32_t> Sampler::inside_{0};

Sampler::Sampler(KnownCode& code, UnsampledThreads& own, const AgentOptions& options, Hooks hooks)
    : code_(code),
      own_(own),
      options_(options),
      hooks_(std::move(hooks)),
      pid_(static_cast<std::uint32_t>(::getpid())),
      ring_(kRing),
      rounds_(pid_ + static_cast<std::uint32_t>(Clock::now().time_since_epoch().count())),
      standing_(self_walk::host::call_size()),
      budget_(options.wall_threads) {
  if (options.cpu_hertz != 0) timers_.emplace(options.cpu_hertz, kSignal, static_cast<void*>(mark));
}

Sampler::~Sampler() { code_.tell_of_freed(nullptr); }

Result<std::unique_ptr<Sampler>> Sampler::create(KnownCode& code, const RuntimeFrames& frames, UnsampledThreads& own,
                                                 const AgentOptions& options, Hooks hooks) {
  std::unique_ptr<Sampler> sampler(new Sampler(code, own, options, std::move(hooks)));
  if (!sampler->ring_.is_usable()) return fail(ErrorCode::limit_exceeded);
  SelfWalker::Options of_walker;
  of_walker.rules = kRules;
  if (options.walks_managed) of_walker.code = &code.rules();
  if (options.walks_managed) of_walker.outer = &frames;
  of_walker.frame_pointers = true;
  of_walker.learns_stacks = true;
  of_walker.threads = kThreads;
  auto walker = SelfWalker::create(of_walker);
  if (!walker) return fail(walker.error());
  sampler->walker_ = std::move(*walker);
  code.tell_of_freed([walker = sampler->walker_.get()](AddressRange freed) { walker->forget(freed); });
  // The walker has learned the creating thread's stack, which must not outlive that thread. The main thread's may stay.
  if (memory::system_call(SYS_gettid) != memory::system_call(SYS_getpid)) sampler->walker_->remove_thread();
  return sampler;
}

Result<void> Sampler::take_signal() {
  struct sigaction action {};
  // On the alternate stack, if the thread has one: the interrupted stack may be too small for us (goroutines). The
  // runtime's handler of SIGSEGV may still need its frame there: FaultRelay protects it.
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  action.sa_sigaction = on_signal;
  // Block other signals: an alternate stack on which we interrupt a handler has no room for a third. Faults stay
  // unblocked.
  (void)::sigfillset(&action.sa_mask);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP}) (void)::sigdelset(&action.sa_mask, fault);
  in_use_.store(this);
  if (::sigaction(kSignal, &action, &before_) != 0) {
    in_use_.store(nullptr);
    return fail(ErrorCode::io_error, 0, errno);
  }
  return {};
}

std::size_t Sampler::make_room(std::span<const std::uint32_t> tids) {
  std::size_t sent = 0;
  for (const std::uint32_t tid : tids)
    if (!own_.has(tid) && send(tid, kRoom, true)) sent++;
  for (const auto deadline = Clock::now() + kRoomTime; with_room_.load() < sent && Clock::now() < deadline;)
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  // Not earlier: with the relay, a fault on a small stack blocks our signal.
  FaultRelay::begin(kSignal);
  has_relay_ = true;
  return sent - std::min(sent, with_room_.load());
}

Result<void> Sampler::begin() {
  FaultRelay::begin(kSignal);
  has_relay_ = true;
  has_begun_ = true;
  thread_ = std::make_unique<AgentThread>("mixstack-sample", own_, [this] { run(); });
  if (thread_->is_running()) return {};
  return fail(ErrorCode::limit_exceeded);
}

bool Sampler::end() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
    ending_.notify_all();
  }
  if (timers_) timers_->stop();
  const bool has_ended = thread_ == nullptr || thread_->ends_within(kEndTime);
  Sampler* us = this;
  in_use_.compare_exchange_strong(us, nullptr);
  if (!has_ended) return false;
  // Every handler that read us from `in_use_` has incremented `inside_` before.
  for (const auto deadline = Clock::now() + kEndTime; inside_.load() != 0;) {
    if (Clock::now() > deadline) return false;
    std::this_thread::sleep_for(milliseconds(1));
  }
  if (has_relay_) FaultRelay::end();
  drain();
  give_signal_back();
  return true;
}

void Sampler::give_signal_back() const {
  const bool has_handler =
      (before_.sa_flags & SA_SIGINFO) != 0 || (before_.sa_handler != SIG_DFL && before_.sa_handler != SIG_IGN);
  struct sigaction now {};
  (void)::sigaction(kSignal, nullptr, &now);
  if (has_handler && (now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == on_signal)
    (void)::sigaction(kSignal, &before_, nullptr);
}

void Sampler::thread_began(std::uint32_t tid) {
  if (static_cast<std::uint32_t>(memory::system_call(SYS_gettid)) == tid) {
    alternate_stacks_.enlarge_own();
    walker_->remove_thread();  // forget an ended thread whose control block was at the same address
  }
  if (has_begun_ && timers_ && !own_.has(tid)) (void)timers_->add(tid);
}

Sampler::Account Sampler::account() const {
  Account a;
  a.lost = ring_.lost();
  a.postponed = postponed_.load(std::memory_order_relaxed);
  a.missed = missed_.load(std::memory_order_relaxed);
  a.foreign = foreign_.load(std::memory_order_relaxed);
  a.threads = timers_ ? timers_->size() : 0;
  a.untimed = timers_ ? timers_->refused() : 0;
  a.ring_bytes = ring_.most_bytes();
  return a;
}

void Sampler::forget_after_fork() {
  in_use_.store(nullptr);
  inside_.store(0);
}

/// A signal, and whether a stack of our own was free for it.
struct Sampler::Signal {
  Sampler& sampler;
  const siginfo_t& info;
  ucontext_t& context;
  bool has_room;
};

/// Runs on the interrupted stack or on an alternate one, and needs less than 1 KiB there.
void Sampler::on_signal(int, siginfo_t* info, void* context) noexcept {
  inside_.fetch_add(1, std::memory_order_seq_cst);
  if (Sampler* sampler = in_use_.load(std::memory_order_seq_cst)) {
    void* stack = sampler->stacks_.take();
    Signal signal{*sampler, *info, *static_cast<ucontext_t*>(context), stack != nullptr};
    if (stack != nullptr) {
      self_walk::mixstack_call_on_stack(&signal, take_apart, stack);
      sampler->stacks_.give_back(stack);
    } else {
      sampler->take(signal);
    }
  }
  inside_.fetch_sub(1, std::memory_order_release);
}

void Sampler::take_apart(void* signal) noexcept {
  const auto& s = *static_cast<const Signal*>(signal);
  s.sampler.take(s);
}

/// In a signal handler. A stack that does not fit into the sample is walked again from the begin, into a DeepStack.
void Sampler::walk(const Signal& signal, Sample& sample) noexcept {
  sample.deep = nullptr;
  sample.knowledge = code_.learned();
  if (!signal.has_room) {
    sample.addresses[0] = self_walk::host::light_frame(&signal.context).pc.raw();
    JitCode code;
    sample.methods[0] = code_.jitted().find(sample.addresses[0], code) ? static_cast<std::uint32_t>(code.method) : 0;
    sample.count = 1;
    sample.doubtful = 0;
    sample.stop = StopReason::not_captured;
    sample.knowledge = kLooksAgain;
    return;
  }
  walk_into(signal, sample, sample.addresses, sample.methods);
  if (sample.stop != StopReason::max_frames || sample.count < Sample::kMostFrames) return;
  // A waiting thread is walked once and counted often, so it may be deep; a running one may have a new stack each time.
  const std::size_t most = sample.state == SampleState::waiting ? DeepStack::kMostFrames : kMostRunningFrames;
  sample.deep = deep_.take();
  if (sample.deep == nullptr) {
    sample.knowledge = kLooksAgain;
    return;
  }
  walk_into(signal, sample, std::span(sample.deep->addresses).first(most), std::span(sample.deep->methods).first(most));
}

void Sampler::walk_into(const Signal& signal, Sample& sample, std::span<Address> addresses,
                        std::span<std::uint32_t> methods) noexcept {
  const SelfTrace trace = walker_->walk(&signal.context, addresses, methods);
  for (std::size_t i = 0; i < trace.count; i++) {
    if (methods[i] != self_walk::CodeRules::kUnknownOwner) continue;
    JitCode code;
    const Address at = addresses[i] - (i == 0 ? 0 : 1);
    methods[i] = code_.jitted().find(at, code) ? static_cast<std::uint32_t>(code.method) : 0;
  }
  sample.count = static_cast<std::uint32_t>(trace.count);
  sample.doubtful = static_cast<std::uint32_t>(trace.count - trace.sure);
  sample.stop = trace.stop;
}

/// In a signal handler.
void Sampler::take(const Signal& signal) noexcept {
  const siginfo_t& info = signal.info;
  ucontext_t* const context = &signal.context;
  const std::uintptr_t state =
      reinterpret_cast<std::uintptr_t>(info.si_value.sival_ptr) ^ reinterpret_cast<std::uintptr_t>(mark);
  const bool is_timer = info.si_code == SI_TIMER && state == 0;
  const bool is_tick = info.si_code == SI_QUEUE && (state == kRunning || state == kWaiting);
  // Before the walk, so that the first frame is at the call, as it is for calls that the kernel restarts.
  if (info.si_code == SI_QUEUE && (is_tick || state == kRoom)) (void)calls_.repeat(context, info.si_errno);
  if (info.si_code == SI_QUEUE && state == kRoom) {
    alternate_stacks_.enlarge_interrupted(*context, true);
    with_room_.fetch_add(1);
    return;
  }
  if (!is_timer && !is_tick) {
    foreign_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  const auto tid = static_cast<std::uint32_t>(memory::system_call(SYS_gettid));
  std::uint32_t weight = 1;
  if (is_timer) {
    // Plus the periods that ended while the signal was pending.
    const std::uint32_t ended = 1 + static_cast<std::uint32_t>(std::max(info.si_overrun, 0));
    weight = progress_.periods(tid, self_walk::host::light_frame(context).pc.raw(), ended);
    if (weight == 0) return;
  }
  Sample* sample = ring_.reserve();
  if (sample == nullptr) return alternate_stacks_.enlarge_interrupted(*context);
  sample->state = is_timer ? SampleState::cpu : state == kRunning ? SampleState::running : SampleState::waiting;
  walk(signal, *sample);
  const unwind::LightFrame interrupted = self_walk::host::light_frame(context);
  sample->sp = interrupted.sp;
  sample->was_cut_short = self_walk::host::call_result(context) == -EINTR;
  sample->tid = tid;
  sample->weight = weight;
  ring_.commit(sample);
  // Last: the walk needs the old alternate stack that the context names, on which this handler may have begun.
  alternate_stacks_.enlarge_interrupted(*context);
}

void Sampler::look_at_threads() {
  const auto before = Clock::now();
  std::vector<std::uint32_t> tids = own_tasks();
  std::erase_if(tids, [this](std::uint32_t tid) { return own_.has(tid); });
  if (timers_) timers_->update(tids);
  if (options_.wall_hertz != 0) {
    rounds_.update(tids);
    standing_.update(tids);
  }
  const auto now = Clock::now();
  next_look_ = now + std::max<nanoseconds>(kLookEvery, (now - before) * kLookShare);
}

/// Reads the run count, the wait place, and the count again: if it is the same, the thread did not run in between.
bool Sampler::begins_to_stand(std::uint32_t tid, std::uint64_t runs) {
  if (!standing_.may_stand(tid, runs)) return false;
  const auto place = task_wait(tid);
  const std::uint64_t cpu = cpu_time(tid);
  return place && task_runs(tid) == runs && standing_.confirm(tid, *place, cpu);
}

/// Sends each chosen thread the signal of its state, or repeats its last sample. Listed threads may have ended.
void Sampler::tick(Clock::time_point now) {
  const nanoseconds period(1'000'000'000 / options_.wall_hertz);
  if (now > next_tick_ + period) {
    const auto late = static_cast<std::uint64_t>((now - next_tick_) / period);
    missed_.fetch_add(late, std::memory_order_relaxed);
    next_tick_ += period * static_cast<std::int64_t>(late);
  }
  next_tick_ += period;
  const auto tids = rounds_.next(budget_.allowed());
  postponed_.fetch_add(rounds_.size() - tids.size(), std::memory_order_relaxed);
  for (const std::uint32_t tid : tids) {
    const bool stood = standing_.stands(tid, cpu_time(tid));
    if (stood && !standing_.looks_again(tid, code_.learned(), now) && hooks_.repeat(tid)) continue;
    const std::uint64_t runs = task_runs(tid);
    const bool begins = !stood && begins_to_stand(tid, runs);
    if (begins && !standing_.looks_again(tid, code_.learned(), now) && hooks_.repeat(tid)) continue;
    const char state = task_state(tid);
    const bool waits = state == 'S' || state == 'D' || state == 'I';
    if (!waits && state != 'R') continue;  // stopped or gone
    if (waits) {
      standing_.interrupted(tid, runs);
    } else {
      standing_.forget(tid);
    }
    // Without a run count (0) the thread gets a signal each tick; a call repeated each time would never time out.
    (void)send(tid, waits ? kWaiting : kRunning, waits && runs != 0);
  }
}

bool Sampler::send(std::uint32_t tid, std::uintptr_t what, bool repeats) {
  siginfo_t info{};
  if (repeats)
    if (const auto place = task_wait(tid)) info.si_errno = calls_.plan(*place);
  info.si_signo = kSignal;
  info.si_code = SI_QUEUE;
  info.si_pid = static_cast<pid_t>(pid_);
  info.si_value.sival_ptr = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(mark) ^ what);
  return memory::system_call(SYS_rt_tgsigqueueinfo, pid_, tid, static_cast<std::uint64_t>(kSignal),
                             reinterpret_cast<std::uintptr_t>(&info)) == 0;
}

void Sampler::drain() {
  while (const Sample* sample = ring_.next()) {
    hooks_.sample(*sample);
    if (sample->state == SampleState::waiting) standing_.sampled(sample->tid, wait_sample(*sample));
    deep_.give_back(sample->deep);
    ring_.release();
  }
  hooks_.pause();
}

void Sampler::run() {
  const bool has_ticks = options_.wall_hertz != 0;
  const auto tid = static_cast<std::uint32_t>(memory::system_call(SYS_gettid));
  next_tick_ = next_look_ = next_refresh_ = Clock::now();
  for (;;) {
    const auto now = Clock::now();
    if (now >= next_look_) look_at_threads();
    if (has_ticks && now >= next_tick_) tick(now);
    drain();
    if (now >= next_refresh_) {
      (void)walker_->refresh();
      next_refresh_ = now + kRefreshEvery;
    }
    budget_.look(static_cast<std::uint64_t>(now.time_since_epoch().count()), cpu_time(tid));
    auto until = std::min(now + kDrainEvery, next_look_);
    if (has_ticks) until = std::min(until, next_tick_);
    std::unique_lock lock(mutex_);
    if (ending_.wait_until(lock, until, [this] { return is_ending_; })) break;
  }
}

}  // namespace mixstack::agent
