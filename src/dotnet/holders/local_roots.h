// Objects that the live variables of stopped threads refer to, as the collector would see it.
#pragma once

#include <array>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "dotnet/code/code_manager.h"
#include "dotnet/holders/heap_graph.h"
#include "dotnet/names/method_names.h"

namespace mixstack::dotnet::holders {

/// References by the GC info of the frames' code, with the variables that they are. References that GC info does not
/// tell, or that a walk does not reach, are left out: words of stacks have them. Borrows all; `memory` is of the moment
/// at which the threads stood, the code manager must read through it.
class LocalRoots {
 public:
  static constexpr std::size_t kMost = 1 << 18;        ///< of all threads
  static constexpr std::size_t kMostFrames = 1 << 14;  ///< of one thread that have names

  LocalRoots(CodeManager& code, names::MethodNames& names, const RuntimeMemory& memory)
      : code_(code), names_(names), memory_(memory) {}

  /// Inner frames first.
  [[nodiscard]] std::vector<LocalReference> find(std::span<const StoppedThread> threads);

 private:
  struct Frame;
  struct Named {
    std::string method, variable;
  };
  void add_thread(const StoppedThread& thread);
  [[nodiscard]] Named name(const Frame& frame, const CodeInfo& code, Address slot, unsigned reg);
  [[nodiscard]] std::string variable_name(const Frame& frame, const CodeInfo& code, std::int32_t number);

  CodeManager& code_;
  names::MethodNames& names_;
  RuntimeMemory memory_;
  std::vector<LocalReference> found_;
  std::map<std::array<std::uint64_t, 3>, Named> named_;  ///< by pc, slot from the stack pointer on, and register
};

}  // namespace mixstack::dotnet::holders
