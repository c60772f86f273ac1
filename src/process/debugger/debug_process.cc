// The handle of a debugged process.
#include "process/debugger/debug_engine.h"

namespace mixstack::process {
namespace {

using Clock = DebugTracer::Clock;

/// Reads whatever program the process runs at the moment.
class PresentMemory final : public MemoryReader {
 public:
  explicit PresentMemory(const ProcessStatus& status) : status_(status) {}
  [[nodiscard]] Result<std::size_t> read_some(Address address, std::span<std::byte> out) const override {
    return status_.program()->memory.read_some(address, out);
  }

 private:
  const ProcessStatus& status_;
};

class ProcessHandle final : public DebuggedProcess {
 public:
  ProcessHandle(std::shared_ptr<DebugEngine> engine, ProcessPointer process)
      : engine_(std::move(engine)), process_(std::move(process)), memory_(process_->status) {}

  [[nodiscard]] std::uint32_t pid() const override { return process_->pid; }

  [[nodiscard]] Result<void> pause(std::chrono::milliseconds timeout) override {
    const auto deadline = Clock::now() + timeout;
    return ask([&](DebugTracer& tracer) { return tracer.holds.pause(*process_, deadline); });
  }
  [[nodiscard]] Result<void> resume() override {
    return ask([&](DebugTracer&) -> Result<void> {
      process_->resume();
      return {};
    });
  }
  [[nodiscard]] Result<void> pause(ThreadId tid, std::chrono::milliseconds timeout) override {
    const auto deadline = Clock::now() + timeout;
    return ask([&](DebugTracer& tracer) { return tracer.holds.pause(*process_, tid, deadline); });
  }
  [[nodiscard]] Result<void> resume(ThreadId tid) override {
    return ask([&](DebugTracer&) { return process_->resume(tid); });
  }
  [[nodiscard]] Result<void> detach(bool leave_stopped) override {
    return ask([&](DebugTracer& tracer) { return tracer.detach(*process_, leave_stopped); });
  }
  [[nodiscard]] Result<void> kill() override {
    return ask([&](DebugTracer&) { return process_->kill(); });
  }

  [[nodiscard]] bool is_terminated() const override { return process_->status.end().has_value(); }
  [[nodiscard]] bool is_debugged() const override { return process_->status.check().has_value(); }
  [[nodiscard]] bool is_running() const override { return process_->status.is_running(); }
  [[nodiscard]] bool is_stopped(ThreadId tid) const override { return registers(tid).has_value(); }
  [[nodiscard]] std::optional<DebugEvent> end() const override { return process_->status.end(); }

  [[nodiscard]] Result<std::vector<ThreadId>> threads() const override {
    return ask([&](DebugTracer&) -> Result<std::vector<ThreadId>> { return process_->list_threads(); });
  }
  [[nodiscard]] Result<RegisterSet> registers(ThreadId tid) const override {
    return ask([&](DebugTracer&) { return process_->registers(tid); });
  }
  [[nodiscard]] const MemoryReader& memory() const override { return memory_; }
  [[nodiscard]] TargetInfo info() const override { return process_->status.program()->info; }
  [[nodiscard]] Result<std::vector<LoadedLibrary>> libraries() const override {
    return ask([&](DebugTracer&) { return process_->list_libraries(); });
  }
  [[nodiscard]] Result<Address> library_trap_address() const override {
    return ask([&](DebugTracer&) { return process_->library_trap(); });
  }
  [[nodiscard]] Result<std::unique_ptr<Target>> open_target() override { return make_debug_target(engine_, process_); }

 private:
  template <class Work>
  [[nodiscard]] std::invoke_result_t<Work&, DebugTracer&> ask(Work work) const {
    return engine_->ask(*process_, std::move(work));
  }
  [[nodiscard]] Result<std::uint64_t> add_guard(std::span<const ThreadId> tids,
                                                std::chrono::milliseconds timeout) override {
    const auto deadline = Clock::now() + timeout;
    return ask([&](DebugTracer& tracer) { return tracer.holds.add_guard(*process_, tids, deadline, true); });
  }
  void remove_guard(std::uint64_t id) override {
    (void)ask([&](DebugTracer&) -> Result<void> {
      process_->remove_guard(id);
      return {};
    });
  }

  std::shared_ptr<DebugEngine> engine_;
  ProcessPointer process_;
  PresentMemory memory_;
};

}  // namespace

std::shared_ptr<DebuggedProcess> make_debugged_process(std::shared_ptr<DebugEngine> engine, ProcessPointer process) {
  return std::make_shared<ProcessHandle>(std::move(engine), std::move(process));
}

}  // namespace mixstack::process
