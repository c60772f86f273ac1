// A debugged process as a Target.

#include "target/debug/debug_engine.h"
#include "target/live/file_access.h"

namespace mixstack::target {
namespace {

class DebugTarget final : public Target {
 public:
  DebugTarget(std::shared_ptr<DebugEngine> engine, std::shared_ptr<DebugRecord> record,
              std::shared_ptr<Program> program, std::uint64_t generation)
      : engine_(std::move(engine)), record_(std::move(record)), program_(std::move(program)), generation_(generation) {}

  [[nodiscard]] const TargetInfo& info() const override { return program_->info; }
  [[nodiscard]] const MemoryReader& memory() const override { return program_->memory; }
  [[nodiscard]] Result<std::vector<ThreadId>> threads() const override {
    if (auto there = DebugTracer::check(*record_); !there) return fail(there.error());
    return engine_->ask([&](DebugTracer& tracer) { return tracer.threads(*record_); });
  }
  [[nodiscard]] Result<std::vector<Region>> regions() const override {
    auto all = program_->regions();
    if (all) program_->memory.use(std::make_shared<const std::vector<Region>>(*all));
    return all;
  }
  [[nodiscard]] Result<std::shared_ptr<const FileBytes>> open_file(const Region& region) const override {
    return open_mapped_file(program_->proc, region);
  }
  [[nodiscard]] bool proves_files() const override { return true; }
  [[nodiscard]] Result<std::shared_ptr<const FileBytes>> open_path(const std::string& path) const override {
    return open_target_path(program_->proc, path);
  }
  [[nodiscard]] Result<Capture> capture(const CaptureRequest& request) override {
    if (auto there = DebugTracer::check(*record_); !there) return fail(there.error());
    return engine_->ask([&](DebugTracer& tracer) { return tracer.capture(*record_, generation_, request); });
  }

 private:
  std::shared_ptr<DebugEngine> engine_;
  std::shared_ptr<DebugRecord> record_;
  std::shared_ptr<Program> program_;
  std::uint64_t generation_;
};

}  // namespace

Result<std::unique_ptr<Target>> make_debug_target(std::shared_ptr<DebugEngine> engine,
                                                  std::shared_ptr<DebugRecord> record) {
  if (auto there = DebugTracer::check(*record); !there) return fail(there.error());
  auto* const asked = engine.get();
  return asked->ask([&](DebugTracer&) -> Result<std::unique_ptr<Target>> {
    if (auto there = DebugTracer::check(*record); !there) return fail(there.error());
    return std::make_unique<DebugTarget>(engine, record, record->program, record->generation);
  });
}

}  // namespace mixstack::target
