#include "process/bpf/unstopped_target.h"

#include <unistd.h>

#include <optional>
#include <utility>

#include "process/bpf/bpf_refusal.h"
#include "process/bpf/unstopped_capture.h"
#include "process/live/live_target.h"
#include "process/live/thread_registers.h"
#include "process/live/view_target.h"

namespace mixstack::bpf {
namespace {

constexpr IteratorOptions kOptions{.stack_bytes = 0, .room = 4 << 20};

class UnstoppedSource final : public process::CaptureSource {
 public:
  UnstoppedSource(std::shared_ptr<const process::ProcessView> view, TaskIterator iterator)
      : view_(std::move(view)), iterator_(std::move(iterator)) {}

  [[nodiscard]] Result<std::vector<ThreadId>> threads() const override { return view_->proc.tasks(); }
  [[nodiscard]] std::vector<Diagnosis> diagnoses() const override {
    if (!view_->memory.is_swap_spent()) return {};
    return {{{ErrorCode::limit_exceeded, 0, process::GuestMemory::kSwapBudget},
             "process " + std::to_string(view_->info.pid),
             "more of its memory is in swap than a dump brings back (4 MiB): some stacks are cut and some names "
             "missing. Look at single threads (-t), or when it is back"}};
  }
  [[nodiscard]] Result<Capture> capture(const CaptureRequest& request) override {
    if (auto same = view_->check_same_program(); !same) return fail(same.error());
    view_->memory.begin_capture(request.goes_on);
    UnstoppedCapture capture(*view_, iterator_, known_, request);
    auto taken = capture.take();
    if (taken && taken->regions) view_->memory.use(taken->regions);
    // If the program was replaced meanwhile, its memory is gone: nothing captured can be named.
    auto same = view_->check_same_program();
    if (!same && same.error().code == ErrorCode::process_changed) return fail(same.error());
    return taken;
  }

 private:
  std::shared_ptr<const process::ProcessView> view_;
  TaskIterator iterator_;
  KnownThreads known_;
};

class IteratorLook final : public process::LateLook {
 public:
  explicit IteratorLook(std::shared_ptr<const process::ProcessView> view) : view_(std::move(view)) {}

  [[nodiscard]] bool prepare() override {
    if (source_ || refusal_) return source_.has_value();
    auto iterator = TaskIterator::open(view_->proc.pid(), kOptions);
    if (iterator)
      source_.emplace(view_, std::move(*iterator));
    else
      refusal_ = iterator.error();
    return source_.has_value();
  }
  [[nodiscard]] Result<Capture> look(const CaptureRequest& request) override { return source_->capture(request); }
  [[nodiscard]] std::vector<Diagnosis> diagnoses() const override {
    const BpfRefusal refusal = refusal_ ? explain_bpf_refusal(*refusal_) : BpfRefusal::none;
    if (refusal == BpfRefusal::none) return {};
    const RefusalWords words = refusal_words(refusal, *refusal_);
    std::string text = "threads that got no processor in time could be looked at without a stop: " + words.why;
    if (!words.remedy.empty()) text += ". " + words.remedy;
    return {{{}, "process " + std::to_string(view_->info.pid), std::move(text)}};
  }

 private:
  std::shared_ptr<const process::ProcessView> view_;
  std::optional<UnstoppedSource> source_;
  std::optional<Error> refusal_;
};

}  // namespace

Result<std::unique_ptr<Target>> open_unstopped(std::uint32_t pid) {
  auto view = process::ProcessView::open(pid);
  if (!view) return fail(view.error());
  if ((*view)->proc.pid() == static_cast<std::uint32_t>(::getpid())) return fail(ErrorCode::invalid_argument, pid);
  const Arch arch = (*view)->info.arch;
  if (arch != process::traceable_arch()) return fail(ErrorCode::unsupported_cpu, static_cast<std::uint64_t>(arch));
  auto iterator = TaskIterator::open((*view)->proc.pid(), kOptions);
  if (!iterator) return fail(iterator.error());
  auto source = std::make_unique<UnstoppedSource>(*view, std::move(*iterator));
  return make_view_target(std::move(*view), std::move(source));
}

Result<std::unique_ptr<Target>> open_live_with_late_look(std::uint32_t pid) {
  process::LiveOptions options;
  options.late_look = [](std::shared_ptr<const process::ProcessView> view) {
    return std::make_unique<IteratorLook>(std::move(view));
  };
  return process::open_live(pid, options);
}

}  // namespace mixstack::bpf
