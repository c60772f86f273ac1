// The file T2 writes: its mappings, then one snapshot (registers, stack bytes) per path. Host byte order, same machine.
#pragma once

#include <array>
#include <cstdint>

namespace t2 {

struct FileHead {
  std::uint64_t modules = 0, snapshots = 0;
};
struct FileModule {
  std::uint64_t begin = 0, end = 0;
  std::array<char, 240> path{};
};
struct FileSnapshot {
  std::array<std::uint64_t, 17> registers{};  ///< DWARF order: rax rdx rcx rbx rsi rdi rbp rsp r8..r15 rip
  std::uint64_t size = 0;                     ///< of the stack bytes that follow, from rsp up
};

}  // namespace t2
