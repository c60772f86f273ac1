// Return addresses that a suspension of the runtime has replaced, in stacks that were sampled while their threads ran.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "dotnet/code/threads.h"
#include "mixstack/dump.h"
#include "mixstack/target.h"

namespace mixstack::session {

/// Knows the replacement, a stub of the runtime's own image: no call stands before it, and so nobody returns there by
/// himself. Borrows `code`, the memory of images.
class ReplacedReturns {
 public:
  ReplacedReturns(const MemoryReader& code, Arch arch, std::vector<AddressRange> runtimes)
      : code_(code), arch_(arch), runtimes_(std::move(runtimes)) {}

  /// Whether such an address may be among these, innermost first.
  [[nodiscard]] bool may_be_in(std::span<const CodeAddress> addresses);
  /// The frame of a walk that stands for a replaced address, called by the method before it. 0: none.
  [[nodiscard]] std::size_t find(const Trace& trace);

 private:
  [[nodiscard]] bool is_replacement(CodeAddress pc);

  const MemoryReader& code_;
  Arch arch_;
  std::vector<AddressRange> runtimes_;
  std::unordered_map<Address, bool> known_;  ///< by return address
};

/// A copy of the sampled stack with the true address put back, if what the runtime says is about this one: frame `at`
/// of its walk.
[[nodiscard]] std::optional<std::vector<std::byte>> put_back(const ThreadCapture& thread, const Trace& trace,
                                                             std::size_t at, const dotnet::LastHijack& last);

/// Nobody knows the true address: the frame goes, and what was found behind it stays only where it is marked as a chain
/// of frame pointers, which may have skipped a caller.
void leave_out(Trace& trace, std::size_t at);

}  // namespace mixstack::session
