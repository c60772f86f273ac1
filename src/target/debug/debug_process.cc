// The handle of a debugged process.
#include "target/debug/debug_engine.h"

namespace mixstack::target {
namespace {

using Clock = DebugTracer::Clock;

/// Reads whatever program the process runs at the moment.
class PresentMemory final : public MemoryReader {
 public:
  explicit PresentMemory(const DebugRecord& record) : record_(record) {}
  [[nodiscard]] Result<std::size_t> read_some(Address address, std::span<std::byte> out) const override {
    std::shared_ptr<Program> program;
    {
      const std::lock_guard lock(record_.shared.mutex);
      program = record_.shared.program;
    }
    return program->memory.read_some(address, out);
  }

 private:
  const DebugRecord& record_;
};

class ProcessHandle final : public DebuggedProcess {
 public:
  ProcessHandle(std::shared_ptr<DebugEngine> engine, std::shared_ptr<DebugRecord> record)
      : engine_(std::move(engine)), record_(std::move(record)), memory_(*record_) {}

  [[nodiscard]] std::uint32_t pid() const override { return record_->pid; }

  [[nodiscard]] Result<void> pause(std::chrono::milliseconds timeout) override {
    const auto deadline = Clock::now() + timeout;
    return ask([&](DebugTracer& tracer) { return tracer.pause(*record_, deadline); });
  }
  [[nodiscard]] Result<void> resume() override {
    return ask([&](DebugTracer& tracer) { return tracer.resume(*record_); });
  }
  [[nodiscard]] Result<void> pause(ThreadId tid, std::chrono::milliseconds timeout) override {
    const auto deadline = Clock::now() + timeout;
    return ask([&](DebugTracer& tracer) { return tracer.pause(*record_, tid, deadline); });
  }
  [[nodiscard]] Result<void> resume(ThreadId tid) override {
    return ask([&](DebugTracer& tracer) { return tracer.resume(*record_, tid); });
  }
  [[nodiscard]] Result<void> detach(bool leave_stopped) override {
    return ask([&](DebugTracer& tracer) { return tracer.detach(*record_, leave_stopped); });
  }
  [[nodiscard]] Result<void> kill() override {
    return ask([&](DebugTracer& tracer) { return tracer.kill(*record_); });
  }

  [[nodiscard]] bool is_terminated() const override {
    const std::lock_guard lock(record_->shared.mutex);
    return record_->shared.phase == DebugRecord::Phase::ended;
  }
  [[nodiscard]] bool is_debugged() const override {
    const std::lock_guard lock(record_->shared.mutex);
    return record_->shared.phase == DebugRecord::Phase::debugged;
  }
  [[nodiscard]] bool is_running() const override {
    const std::lock_guard lock(record_->shared.mutex);
    return record_->shared.running;
  }
  [[nodiscard]] bool is_stopped(ThreadId tid) const override { return registers(tid).has_value(); }
  [[nodiscard]] std::optional<DebugEvent> end() const override {
    const std::lock_guard lock(record_->shared.mutex);
    return record_->shared.end;
  }

  [[nodiscard]] Result<std::vector<ThreadId>> threads() const override {
    return ask([&](DebugTracer& tracer) { return tracer.threads(*record_); });
  }
  [[nodiscard]] Result<RegisterSet> registers(ThreadId tid) const override {
    return ask([&](DebugTracer& tracer) { return tracer.registers(*record_, tid); });
  }
  [[nodiscard]] const MemoryReader& memory() const override { return memory_; }
  [[nodiscard]] TargetInfo info() const override {
    const std::lock_guard lock(record_->shared.mutex);
    return record_->shared.program->info;
  }
  [[nodiscard]] Result<std::vector<LoadedLibrary>> libraries() const override {
    return ask([&](DebugTracer& tracer) { return tracer.libraries(*record_); });
  }
  [[nodiscard]] Result<Address> library_trap_address() const override {
    return ask([&](DebugTracer& tracer) { return tracer.library_trap(*record_); });
  }
  [[nodiscard]] Result<std::unique_ptr<Target>> open_target() override { return make_debug_target(engine_, record_); }

 private:
  /// What is known for good needs no tracer: an ended process stays ended when its session is destroyed.
  template <class Work>
  [[nodiscard]] std::invoke_result_t<Work&, DebugTracer&> ask(Work work) const {
    if (auto there = DebugTracer::check(*record_); !there) return fail(there.error());
    return engine_->ask(std::move(work));
  }
  [[nodiscard]] Result<std::uint64_t> add_guard(std::span<const ThreadId> tids,
                                                std::chrono::milliseconds timeout) override {
    const auto deadline = Clock::now() + timeout;
    return ask([&](DebugTracer& tracer) { return tracer.add_guard(*record_, tids, deadline, true); });
  }
  void remove_guard(std::uint64_t id) override {
    (void)ask([&](DebugTracer& tracer) -> Result<void> {
      tracer.remove_guard(*record_, id);
      return {};
    });
  }

  std::shared_ptr<DebugEngine> engine_;
  std::shared_ptr<DebugRecord> record_;
  PresentMemory memory_;
};

}  // namespace

std::shared_ptr<DebuggedProcess> make_debugged_process(std::shared_ptr<DebugEngine> engine,
                                                       std::shared_ptr<DebugRecord> record) {
  return std::make_shared<ProcessHandle>(std::move(engine), std::move(record));
}

}  // namespace mixstack::target
