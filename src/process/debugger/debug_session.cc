#include "process/debugger/debug_session.h"

#include "process/debugger/debug_engine.h"

namespace mixstack::process {

/// Receivers of events; copied for each dispatch, so that a handler may add and remove handlers.
class DebugSession::Handlers {
 public:
  std::uint64_t add(EventHandler handler) {
    const std::lock_guard lock(mutex_);
    entries_.emplace_back(++last_, std::make_shared<const EventHandler>(std::move(handler)));
    return last_;
  }
  void remove(std::uint64_t id) {
    const std::lock_guard lock(mutex_);
    std::erase_if(entries_, [&](const Entry& e) { return e.first == id; });
  }
  void call(const DebugEvent& event) const {
    for (const auto& [id, handler] : copy()) (*handler)(event);
  }

 private:
  using Entry = std::pair<std::uint64_t, std::shared_ptr<const EventHandler>>;
  [[nodiscard]] std::vector<Entry> copy() const {
    const std::lock_guard lock(mutex_);
    return entries_;
  }
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
  std::uint64_t last_ = 0;
};

DebugSession::DebugSession(std::shared_ptr<DebugEngine> engine)
    : engine_(std::move(engine)), handlers_(std::make_unique<Handlers>()) {}

DebugSession::~DebugSession() { engine_->shut_down(); }

Result<std::unique_ptr<DebugSession>> DebugSession::open() {
  auto engine = DebugEngine::start();
  if (!engine) return fail(engine.error());
  return std::unique_ptr<DebugSession>(new DebugSession(std::move(*engine)));
}

Result<std::shared_ptr<DebuggedProcess>> DebugSession::launch(const LaunchRequest& request) {
  return engine_->ask([&](DebugTracer& tracer) -> Result<std::shared_ptr<DebuggedProcess>> {
    auto process = tracer.beginnings.launch(request);
    if (!process) return fail(process.error());
    return (*process)->handle;
  });
}

Result<std::shared_ptr<DebuggedProcess>> DebugSession::attach(std::uint32_t pid, const DebugOptions& options) {
  return engine_->ask([&](DebugTracer& tracer) -> Result<std::shared_ptr<DebuggedProcess>> {
    auto process = tracer.beginnings.attach(pid, options);
    if (!process) return fail(process.error());
    return (*process)->handle;
  });
}

std::shared_ptr<DebuggedProcess> DebugSession::find(std::uint32_t pid) const {
  auto found = engine_->ask([&](DebugTracer& tracer) -> Result<std::shared_ptr<DebuggedProcess>> {
    const auto process = tracer.table.find(pid);
    return process == nullptr ? nullptr : process->handle;
  });
  return found.value_or(nullptr);
}

std::vector<std::shared_ptr<DebuggedProcess>> DebugSession::processes() const {
  using Handles = std::vector<std::shared_ptr<DebuggedProcess>>;
  auto all = engine_->ask([&](DebugTracer& tracer) -> Result<Handles> {
    Handles handles;
    for (const auto& process : tracer.table.all())
      if (process->handle != nullptr) handles.push_back(process->handle);
    return handles;
  });
  return all.value_or(Handles());
}

int DebugSession::event_fd() const { return engine_->events().fd(); }

std::uint64_t DebugSession::add_handler(EventHandler handler) { return handlers_->add(std::move(handler)); }
void DebugSession::remove_handler(std::uint64_t id) { handlers_->remove(id); }

std::size_t DebugSession::handle_events(bool block) {
  EventQueue& events = engine_->events();
  if (block) events.wait();
  // Events that arrive meanwhile are the next call's: a busy process must not keep the host here.
  std::size_t handled = 0;
  for (std::size_t left = events.size(); left > 0; left--) {
    const auto event = events.pop();
    if (!event) break;  // another thread took it
    handlers_->call(*event);
    handled++;
  }
  return handled;
}

std::uint64_t DebugSession::lost_events() const { return engine_->events().lost(); }
std::uint32_t DebugSession::tracer_pid() const { return static_cast<std::uint32_t>(engine_->tracer_pid()); }

}  // namespace mixstack::process
