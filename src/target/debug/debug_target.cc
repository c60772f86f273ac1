// A debugged process as a Target.

#include "target/debug/debug_engine.h"
#include "target/live/file_access.h"

namespace mixstack::target {
namespace {

class DebugTarget final : public Target {
 public:
  DebugTarget(std::shared_ptr<DebugEngine> engine, ProcessPointer process, std::shared_ptr<Program> program,
              std::uint64_t generation)
      : engine_(std::move(engine)),
        process_(std::move(process)),
        program_(std::move(program)),
        generation_(generation) {}

  [[nodiscard]] const TargetInfo& info() const override { return program_->info; }
  [[nodiscard]] const MemoryReader& memory() const override { return program_->memory; }
  [[nodiscard]] Result<std::vector<ThreadId>> threads() const override {
    return engine_->ask(*process_,
                        [&](DebugTracer&) -> Result<std::vector<ThreadId>> { return process_->list_threads(); });
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
    return engine_->ask(*process_,
                        [&](DebugTracer& tracer) { return tracer.capture(*process_, generation_, request); });
  }

 private:
  std::shared_ptr<DebugEngine> engine_;
  ProcessPointer process_;
  std::shared_ptr<Program> program_;
  std::uint64_t generation_;
};

}  // namespace

Result<std::unique_ptr<Target>> make_debug_target(std::shared_ptr<DebugEngine> engine, ProcessPointer process) {
  auto* const asked = engine.get();
  return asked->ask(*process, [&](DebugTracer&) -> Result<std::unique_ptr<Target>> {
    return std::make_unique<DebugTarget>(engine, process, process->program, process->generation);
  });
}

}  // namespace mixstack::target
