#include "process/self/self_target.h"

#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "base/memory/pointer_authentication.h"
#include "base/memory/process_memory.h"
#include "base/memory/self_memory.h"
#include "base/memory/system_call.h"
#include "process/live/root_reads.h"
#include "process/live/stack_plan.h"
#include "process/live/thread_registers.h"
#include "process/live/view_target.h"
#include "process/self/context_registers.h"
#include "process/self/helper_capture.h"
#include "process/self/signal_capture.h"

namespace mixstack::process {
namespace {

/// By copying the calling thread's stack, and those of others by signal or helper where that is wanted.
class OwnCaptures final : public CaptureSource {
 public:
  OwnCaptures(std::shared_ptr<const ProcessView> view, const SelfOptions& options)
      : view_(std::move(view)), options_(options), for_roots_(proc_.pid()) {}

  [[nodiscard]] Result<std::vector<ThreadId>> threads() const override { return proc_.tasks(); }
  [[nodiscard]] Result<Capture> capture(const CaptureRequest& request) override {
    if (options_.others == OwnThreads::by_helper) return capture_by_helper(request, options_.helper_timeout);
    return capture_here(request);
  }

 private:
  [[nodiscard]] Result<Capture> capture_here(const CaptureRequest& request);
  void capture_calling_thread(const CaptureRequest& request, const std::vector<Region>& regions, Capture& capture,
                              ThreadCapture& out) const;
  void copy_left_part(const std::vector<Region>& regions, std::uint64_t most, Capture& capture,
                      const ThreadCapture& thread) const;
  [[nodiscard]] Result<void> capture_others(const CaptureRequest& request, const std::vector<Region>& regions,
                                            Capture& capture) const;

  std::shared_ptr<const ProcessView> view_;
  const ProcDir& proc_ = view_->proc;
  const TargetInfo& info_ = view_->info;
  SelfOptions options_;
  memory::SelfMemory memory_;
  memory::ProcessMemory for_roots_;
};

void OwnCaptures::capture_calling_thread(const CaptureRequest& request, const std::vector<Region>& regions,
                                         Capture& capture, ThreadCapture& out) const {
  ucontext_t context;
  (void)::getcontext(&context);
  out.registers = context_registers(&context);
  const Address sp = out.registers.sp();
  const AddressRange extent = stack_extent(regions, sp, own_thread_pointer());
  if (extent.empty()) {
    out.error = {ErrorCode::unreadable_memory, 0, sp};
    return;
  }
  const Address base = sp - extent.begin > kRedZone ? sp - kRedZone : extent.begin;
  const std::uint64_t most = request.initial_stack_bytes + std::uint64_t{request.stack_byte_budget};
  const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(extent.end - base, most));
  auto bytes = std::make_unique<std::byte[]>(size);
  const auto n = memory_.read_some(base, std::span(bytes.get(), size));
  out.stack = {base, std::span<const std::byte>(bytes.get(), n ? *n : 0)};
  out.stack_truncated = out.stack.bytes.size() < extent.end - base;
  out.captured = n.has_value();
  out.error = n ? Error{} : n.error();
  capture.storage.push_back(std::move(bytes));
  copy_left_part(regions, most - std::min<std::uint64_t>(most, size), capture, out);
}

/// In a signal handler on an alternate stack the walk goes on on the stack that was interrupted.
void OwnCaptures::copy_left_part(const std::vector<Region>& regions, std::uint64_t most, Capture& capture,
                                 const ThreadCapture& thread) const {
  const AddressRange own = home_stack(regions, thread.tid == info_.pid, own_thread_pointer());
  const AddressRange left = left_part(thread.registers, thread.stack, own);
  const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(left.size(), most));
  if (size == 0) return;
  auto bytes = std::make_unique<std::byte[]>(size);
  const auto n = memory_.read_some(left.begin, std::span(bytes.get(), size));
  if (n) capture.roots.push_back({left.begin, std::span<const std::byte>(bytes.get(), *n)});
  capture.storage.push_back(std::move(bytes));
}

Result<void> OwnCaptures::capture_others(const CaptureRequest& request, const std::vector<Region>& regions,
                                         Capture& capture) const {
  std::vector<ThreadId> tids;
  std::vector<ThreadCapture*> others;
  for (ThreadCapture& t : capture.threads) {
    if (t.captured) continue;
    tids.push_back(t.tid);
    others.push_back(&t);
  }
  SignalCapture signals(options_.signal, regions, request);
  if (auto ran = signals.run(tids, request.stop_timeout); !ran) return ran;
  for (std::size_t i = 0; i < tids.size(); i++) {
    const SignalSlot& slot = signals[i];
    ThreadCapture& t = *others[i];
    if (slot.state.load() != SignalSlot::done) {
      const bool is_there = proc_.has_task(t.tid);
      t.error = {is_there ? ErrorCode::thread_not_stopped : ErrorCode::no_such_thread, 0, t.tid};
      if (is_there) capture.threads_not_stopped++;
      continue;
    }
    t.captured = true;
    t.error = {};
    t.registers = slot.registers;
    t.stack = {slot.stack_base, {slot.copy, slot.stack_size}};
    t.stack_truncated = slot.truncated;
    if (!slot.left.bytes.empty()) capture.roots.push_back(slot.left);
  }
  capture.storage.push_back(signals.take_room());
  return {};
}

Result<Capture> OwnCaptures::capture_here(const CaptureRequest& request) {
  auto mapped = view_->regions();
  if (!mapped) return fail(mapped.error());
  auto tids = proc_.tasks();
  if (!tids) return fail(tids.error());
  if (!request.threads.empty())
    std::erase_if(*tids, [&](ThreadId t) { return std::ranges::find(request.threads, t) == request.threads.end(); });
  if (tids->empty()) return fail(ErrorCode::no_such_thread);

  Capture capture;
  capture.arch = info_.arch;
  capture.pac_mask = memory::own_pac_mask();
  capture.consistency = Consistency::one_by_one;
  const auto own = static_cast<ThreadId>(memory::system_call(SYS_gettid));
  for (const ThreadId tid : *tids) {
    ThreadCapture& t = capture.threads.emplace_back();
    t.tid = t.ns_tid = tid;
    const auto stat = proc_.thread_stat(tid);
    t.comm = stat ? stat->comm : std::string();
    t.kernel_state = stat ? stat->state : '?';
    t.syscall = tid == own ? -1 : proc_.thread_syscall(tid);
    t.error = {ErrorCode::unsupported, 0, tid};
  }
  RootReads roots(for_roots_, for_roots_);
  if (request.roots != nullptr) roots.rehearse(*request.roots);
  for (ThreadCapture& t : capture.threads)
    if (t.tid == own) capture_calling_thread(request, *mapped, capture, t);
  if (options_.others == OwnThreads::by_signal)
    if (auto others = capture_others(request, *mapped, capture); !others) return fail(others.error());
  if (request.roots != nullptr) {
    roots.read(*request.roots);
    roots.hand_over(capture);
  }
  capture.regions = std::make_shared<const std::vector<Region>>(std::move(*mapped));
  return capture;
}

}  // namespace

Result<std::unique_ptr<Target>> open_self(const SelfOptions& options) {
  if (options.others == OwnThreads::by_signal && (options.signal < 1 || options.signal > SIGRTMAX))
    return fail(ErrorCode::invalid_argument, static_cast<std::uint64_t>(options.signal));
  auto view = ProcessView::open(static_cast<std::uint32_t>(::getpid()));
  if (!view) return fail(view.error());
  const Arch arch = (*view)->info.arch;
  if (arch != traceable_arch()) return fail(ErrorCode::unsupported_cpu, static_cast<std::uint64_t>(arch));
  auto source = std::make_unique<OwnCaptures>(*view, options);
  return make_view_target(std::move(*view), std::move(source));
}

}  // namespace mixstack::process
