#include "mixstack/stop_guard.h"

#include "process/debugger/debug_session.h"

namespace mixstack {

class StopGuard::Implementation {
 public:
  explicit Implementation(process::ThreadHold guard) : guard_(std::move(guard)) {}
  [[nodiscard]] process::ThreadHold& guard() { return guard_; }

 private:
  process::ThreadHold guard_;
};

Result<StopGuard> StopGuard::stop(std::uint32_t pid, std::span<const ThreadId> tids,
                                  std::chrono::milliseconds timeout) {
  auto guard = process::stop_process(pid, tids, timeout);
  if (!guard) return fail(guard.error());
  return StopGuard(std::make_unique<Implementation>(std::move(*guard)));
}

StopGuard::StopGuard(std::unique_ptr<Implementation> implementation) : implementation_(std::move(implementation)) {}
StopGuard::StopGuard(StopGuard&&) noexcept = default;
StopGuard& StopGuard::operator=(StopGuard&&) noexcept = default;
StopGuard::~StopGuard() = default;

void StopGuard::release() { implementation_.reset(); }
bool StopGuard::is_held() const { return implementation_ != nullptr; }

Result<std::unique_ptr<Target>> StopGuard::target() const {
  if (!implementation_ || !implementation_->guard().process()) return fail(ErrorCode::not_found);
  return implementation_->guard().process()->open_target();
}

}  // namespace mixstack
