#include "process/live/live_target.h"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <utility>

#include "process/live/live_capture.h"
#include "process/live/ptrace_refusal.h"
#include "process/live/thread_registers.h"
#include "process/live/tracer.h"
#include "process/live/view_target.h"

namespace mixstack::process {
namespace {

constexpr unsigned kFirstNap = 1000;  // us
constexpr unsigned kLastNap = 64'000;

[[nodiscard]] bool may_be_exec(ErrorCode code) {
  return code == ErrorCode::no_such_process || code == ErrorCode::permission_denied || code == ErrorCode::not_found;
}

/// Threads that run freely, stopped by ptrace for the time of a capture.
class PtraceStops final : public CaptureSource {
 public:
  PtraceStops(std::shared_ptr<const ProcessView> view, const LiveOptions& options)
      : view_(std::move(view)), options_(options) {
    if (options_.late_look) late_look_ = options_.late_look(view_);
  }

  [[nodiscard]] Result<std::vector<ThreadId>> threads() const override { return proc_.tasks(); }
  [[nodiscard]] std::vector<Diagnosis> diagnoses() const override {
    std::vector<Diagnosis> list;
    const std::string who = "process " + std::to_string(view_->info.pid);
    if (unserved_reads_ != 0)
      list.push_back({{ErrorCode::io_error, ETIMEDOUT, view_->info.pid},
                      who,
                      "a page of its memory was not served within 100 ms while it stood still (userfaultfd, FUSE or a "
                      "dead network file system?); it was released at once, and some stacks are incomplete"});
    if (memory_.is_swap_spent())
      list.push_back({{ErrorCode::limit_exceeded, 0, GuestMemory::kSwapBudget},
                      who,
                      "more of its memory is in swap than a dump brings back (4 MiB): some stacks are cut and some "
                      "names missing. Look at single threads (-t), or when it is back"});
    if (had_late_threads_)
      for (Diagnosis& d : late_look_->diagnoses()) list.push_back(std::move(d));
    return list;
  }
  [[nodiscard]] Result<Capture> capture(const CaptureRequest& request) override {
    // During an exec, which takes long if many threads must end first, threads and files vanish and the main thread is
    // a zombie: an apparent end or refusal is retried while the process is there.
    for (unsigned nap = kFirstNap;; nap *= 2) {
      auto taken = capture_once(request);
      if (taken || !may_be_exec(taken.error().code) || has_ended()) return taken;
      if (nap > kLastNap) {
        // The process is there, but not what was there at the beginning: an exec, which takes long on a busy machine.
        const bool replaced = taken.error().code != ErrorCode::permission_denied;
        return replaced ? fail(ErrorCode::process_changed, view_->info.pid) : std::move(taken);
      }
      ::usleep(nap);
    }
  }

 private:
  /// In an exec there is always a thread that is no zombie, but it takes the main thread's place between two of our
  /// reads: the process has ended only if a second look says so, too.
  [[nodiscard]] bool has_ended() const {
    if (!looks_ended()) return false;
    ::usleep(kFirstNap);
    return looks_ended();
  }
  [[nodiscard]] bool looks_ended() const {
    const auto stat = proc_.thread_stat(proc_.pid());
    return !stat || ((stat->state == 'Z' || stat->state == 'X') && proc_.task_count() <= 1);
  }
  [[nodiscard]] Result<Capture> capture_as(Tracer::Kind kind, const CaptureRequest& request, bool& is_refused) {
    LiveCapture capture(
        proc_, memory_, view_->info, request, options_.hold_all, [this] { return view_->read_regions(); }, last_);
    if (auto prepared = capture.prepare(); !prepared) return fail(prepared.error());
    const auto begin = std::chrono::steady_clock::now();
    auto ran = run_as_tracer([&](Tracer& tracer) { capture.stop(tracer); }, kind);
    is_refused = capture.is_refused();
    if (!ran && ran.error().os_error != ETIMEDOUT) return fail(ran.error());
    if (!ran) unserved_reads_++;
    auto taken = capture.finish();
    // A sampler (`together`) sees them in its next round.
    had_late_threads_ = taken && late_look_ != nullptr && request.together == 0 &&
                        look_at_late_threads(*taken, request, begin, *late_look_);
    return taken;
  }
  [[nodiscard]] Result<Capture> capture_once(const CaptureRequest& request) {
    if (auto same = view_->check_same_program(); !same) return fail(same.error());
    memory_.begin_capture(request.goes_on);
    if (last_.regions == nullptr) use_mappings_of_view();
    bool is_refused = false;
    auto taken = capture_as(Tracer::Kind::process, request, is_refused);
    // Yama lets a process trace its own children, and ours are not the tracer's.
    if (!taken && is_refused && explain_ptrace_refusal(proc_.pid()).reason == PtraceRefusal::yama_children_only)
      taken = capture_as(Tracer::Kind::thread, request, is_refused);
    if (taken && taken->regions) memory_.use(taken->regions);
    // If the program was replaced meanwhile, its memory is gone: nothing captured can be named.
    auto same = view_->check_same_program();
    if (!same && same.error().code == ErrorCode::process_changed) return fail(same.error());
    return taken;
  }

  /// Opening a process lists its mappings just before the first capture.
  void use_mappings_of_view() {
    ListedMappings listed = view_->listed();
    last_.regions = std::move(listed.regions);
    last_.sizes = listed.sizes;
    last_.listed_at = listed.at;
  }

  std::shared_ptr<const ProcessView> view_;
  const ProcDir& proc_ = view_->proc;
  GuestMemory& memory_ = view_->memory;
  LiveOptions options_;
  std::unique_ptr<LateLook> late_look_;
  bool had_late_threads_ = false;  ///< the last capture asked for a late look
  std::uint32_t unserved_reads_ = 0;
  LastCapture last_{proc_};
};

}  // namespace

Result<std::unique_ptr<Target>> open_live(std::uint32_t pid, const LiveOptions& options) {
  auto view = ProcessView::open(pid);
  if (!view) return fail(view.error());
  const Arch arch = (*view)->info.arch;
  if ((*view)->proc.pid() == static_cast<std::uint32_t>(::getpid())) return fail(ErrorCode::invalid_argument, pid);
  if (arch != traceable_arch()) return fail(ErrorCode::unsupported_cpu, static_cast<std::uint64_t>(arch));
  auto source = std::make_unique<PtraceStops>(*view, options);
  return make_view_target(std::move(*view), std::move(source));
}

}  // namespace mixstack::process
