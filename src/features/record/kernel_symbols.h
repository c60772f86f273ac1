// Names of the running kernel's code, from /proc/kallsyms.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "features/record/stack_recorder.h"

namespace mixstack::record {

/// Reads the list once, at the first question. Names are empty where the kernel hides addresses (kptr_restrict).
class KernelSymbols final : public KernelNames {
 public:
  KernelSymbols() = default;
  /// From a text like /proc/kallsyms: one "ffffffff81000000 T name [module]" per line.
  explicit KernelSymbols(std::string_view text) : is_read_(true) { read(text); }
  [[nodiscard]] std::string name(Address address) override;

 private:
  static constexpr std::size_t kMostBytes = 64u << 20;
  struct Symbol {
    Address address = 0;
    std::uint32_t name = 0, size = 0;  ///< in `names_`
  };
  void read(std::string_view text);

  bool is_read_ = false;
  std::vector<Symbol> symbols_;  ///< functions, by address
  std::string names_;
};

}  // namespace mixstack::record
