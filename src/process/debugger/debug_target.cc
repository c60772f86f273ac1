// A debugged process as a Target.

#include "process/debugger/debug_engine.h"
#include "process/live/view_target.h"

namespace mixstack::process {
namespace {

/// Threads that a debugger holds, or can hold.
class DebuggedThreads final : public CaptureSource {
 public:
  DebuggedThreads(std::shared_ptr<DebugEngine> engine, ProcessPointer process)
      : engine_(std::move(engine)), process_(std::move(process)), generation_(process_->generation) {}

  [[nodiscard]] Result<std::vector<ThreadId>> threads() const override {
    return engine_->ask(*process_,
                        [&](DebugTracer&) -> Result<std::vector<ThreadId>> { return process_->list_threads(); });
  }
  [[nodiscard]] Result<Capture> capture(const CaptureRequest& request) override {
    return engine_->ask(*process_,
                        [&](DebugTracer& tracer) { return tracer.capture(*process_, generation_, request); });
  }

 private:
  std::shared_ptr<DebugEngine> engine_;
  ProcessPointer process_;
  std::uint64_t generation_;
};

}  // namespace

Result<std::unique_ptr<Target>> make_debug_target(std::shared_ptr<DebugEngine> engine, ProcessPointer process) {
  auto* const asked = engine.get();
  return asked->ask(*process, [&](DebugTracer&) -> Result<std::unique_ptr<Target>> {
    return make_view_target(process->program, std::make_unique<DebuggedThreads>(engine, process));
  });
}

}  // namespace mixstack::process
