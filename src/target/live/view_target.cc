#include "target/live/view_target.h"

#include <utility>

namespace mixstack::target {
namespace {

class ViewTarget final : public Target {
 public:
  ViewTarget(std::shared_ptr<const ProcessView> view, std::unique_ptr<CaptureSource> source)
      : view_(std::move(view)), source_(std::move(source)) {}

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

 private:
  std::shared_ptr<const ProcessView> view_;
  std::unique_ptr<CaptureSource> source_;
};

}  // namespace

std::unique_ptr<Target> make_view_target(std::shared_ptr<const ProcessView> view,
                                         std::unique_ptr<CaptureSource> source) {
  return std::make_unique<ViewTarget>(std::move(view), std::move(source));
}

}  // namespace mixstack::target
