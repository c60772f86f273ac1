#include "process/live/view_target.h"

#include <utility>

#include "process/live/off_cpu.h"
#include "process/live/process_usage.h"
#include "process/live/thread_facts.h"

namespace mixstack::process {
namespace {

class ViewTarget final : public Target {
 public:
  ViewTarget(std::shared_ptr<const ProcessView> view, std::unique_ptr<CaptureSource> source)
      : view_(std::move(view)), source_(std::move(source)), meter_(view_->info.pid) {}

  [[nodiscard]] const TargetInfo& info() const override { return view_->info; }
  [[nodiscard]] const MemoryReader& memory() const override { return view_->memory; }
  [[nodiscard]] Result<std::vector<ThreadId>> threads() const override { return source_->threads(); }
  [[nodiscard]] Result<std::vector<Region>> regions() const override { return view_->regions(); }
  [[nodiscard]] Result<std::shared_ptr<const FileBytes>> open_file(const Region& region) const override {
    return view_->open_file(region);
  }
  [[nodiscard]] bool proves_files() const override { return true; }
  [[nodiscard]] Result<std::shared_ptr<const FileBytes>> open_path(const std::string& path) const override {
    return view_->open_path(path);
  }
  [[nodiscard]] Result<Capture> capture(const CaptureRequest& request) override { return source_->capture(request); }
  [[nodiscard]] std::vector<Diagnosis> diagnoses() const override { return source_->diagnoses(); }
  [[nodiscard]] std::vector<ThreadFacts> thread_facts(std::span<const ThreadCapture> threads) const override {
    return read_thread_facts(*view_, threads, off_cpu_ ? &*off_cpu_ : nullptr);
  }
  void prepare_thread_facts(std::span<const ThreadId> threads, bool off_cpu) override {
    off_cpu_.reset();
    if (!off_cpu) return;
    const auto all = threads.empty() ? view_->proc.tasks() : std::vector<ThreadId>(threads.begin(), threads.end());
    off_cpu_.emplace();
    if (all) *off_cpu_ = off_cpu_times(view_->proc, *all);
  }
  [[nodiscard]] std::optional<ProcessUsage> usage(std::chrono::nanoseconds stopped) override {
    return meter_.look(view_->proc, stopped);
  }

 private:
  std::shared_ptr<const ProcessView> view_;
  std::unique_ptr<CaptureSource> source_;
  UsageMeter meter_;
  std::optional<OffCpuTimes> off_cpu_;  ///< before the last stop
};

}  // namespace

std::unique_ptr<Target> make_view_target(std::shared_ptr<const ProcessView> view,
                                         std::unique_ptr<CaptureSource> source) {
  return std::make_unique<ViewTarget>(std::move(view), std::move(source));
}

}  // namespace mixstack::process
