#include "session/replaced_returns.h"

#include <algorithm>
#include <cstring>

#include "base/system/byte_cursor.h"
#include "engine/walk/code_steppers.h"

namespace mixstack::session {
namespace {

constexpr std::size_t kMostKnown = 1 << 16;

}  // namespace

bool ReplacedReturns::is_replacement(CodeAddress pc) {
  const Address raw = pc.raw();
  if (pc.is_exact()) return false;
  if (std::none_of(runtimes_.begin(), runtimes_.end(), [raw](const AddressRange& r) { return r.contains(raw); }))
    return false;
  if (const auto at = known_.find(raw); at != known_.end()) return at->second;
  if (known_.size() >= kMostKnown) known_.clear();
  return known_[raw] = !walk::follows_call(code_, arch_, raw);
}

bool ReplacedReturns::may_be_in(std::span<const CodeAddress> addresses) {
  return std::any_of(addresses.begin(), addresses.end(), [this](CodeAddress pc) { return is_replacement(pc); });
}

std::size_t ReplacedReturns::find(const Trace& trace) {
  for (std::size_t i = 1; i < trace.frames.size(); i++)
    if (trace.frames[i - 1].kind == FrameKind::managed && trace.frames[i].kind == FrameKind::native &&
        is_replacement(trace.frames[i].pc))
      return i;
  return 0;
}

std::optional<std::vector<std::byte>> put_back(const ThreadCapture& thread, const Trace& trace, std::size_t at,
                                               const dotnet::LastHijack& last) {
  const AddressRange frame{trace.frames[at - 1].sp, trace.frames[at].sp};
  const Address offset = last.slot - thread.stack.base;
  const auto there = base::load_at<Address>(thread.stack.bytes, offset);
  if (!frame.contains(last.slot) || last.slot < thread.stack.base || there != trace.frames[at].pc.raw())
    return std::nullopt;
  std::vector<std::byte> copy(thread.stack.bytes.begin(), thread.stack.bytes.end());
  std::memcpy(copy.data() + offset, &last.return_address, sizeof(Address));
  return copy;
}

void leave_out(Trace& trace, std::size_t at) {
  const auto replaced = trace.frames.begin() + static_cast<std::ptrdiff_t>(at);
  const bool is_marked = replaced + 1 != trace.frames.end() && (replaced + 1)->trust >= Trust::frame_pointer;
  if (is_marked) {
    trace.frames.erase(replaced);
    return;
  }
  trace.stop = StopReason::bad_return_address;
  trace.stop_error = {ErrorCode::bad_return_address, 0, replaced->pc.raw()};
  trace.frames.erase(replaced, trace.frames.end());
}

}  // namespace mixstack::session
