// Names for the frames of many traces, each distinct place named once.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "mixstack/symbolizer.h"

namespace mixstack::symbolize {

/// Asks its providers in order and interns the answers. Borrows the providers. Not thread-safe.
class Symbolizer {
 public:
  explicit Symbolizer(std::vector<NameProvider*> providers);

  /// Index into `symbols()` of the frame's name. 0 is the unnamed symbol: nobody knew the place.
  [[nodiscard]] std::uint32_t name(const Frame& frame);
  [[nodiscard]] const std::vector<SymbolInfo>& symbols() const { return symbols_; }
  [[nodiscard]] std::vector<SymbolInfo> take_symbols() { return std::move(symbols_); }

 private:
  struct Key {
    std::uint64_t address;  ///< lookup address, or that of the explicit Frame
    std::uint64_t method;
    std::uint32_t kind_and_identifier;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& k) const;
  };
  static Key key_of(const Frame& frame);

  std::vector<NameProvider*> providers_;
  std::vector<SymbolInfo> symbols_;
  std::unordered_map<Key, std::uint32_t, KeyHash> known_;
};

}  // namespace mixstack::symbolize
