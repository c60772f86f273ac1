// Names for frames that a walk found. Names are made after the target runs again, from addresses and facts.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mixstack/frame.h"
#include "mixstack/symbol.h"

namespace mixstack {

/// One way of naming frames: ELF symbols, a runtime's methods, a perf map, a user's JIT.
class NameProvider {
 public:
  virtual ~NameProvider() = default;
  [[nodiscard]] virtual std::string_view provider_name() const = 0;
  /// Nothing when the frame is not this provider's.
  [[nodiscard]] virtual std::optional<SymbolInfo> describe(const Frame& frame) = 0;
};

/// Names for the frames of many traces, each distinct place named once. Borrows its providers. Not thread-safe.
class Symbolizer {
 public:
  /// Asked in this order; the first that knows a frame names it.
  explicit Symbolizer(std::vector<NameProvider*> providers);

  /// Index into `symbols()` of the frame's name. 0 is the unnamed symbol: nobody knew the place.
  [[nodiscard]] std::uint32_t name(const Frame& frame);
  /// A deque: references to its elements stay valid.
  [[nodiscard]] const std::deque<SymbolInfo>& symbols() const { return symbols_; }
  /// All names; the symbolizer starts anew.
  [[nodiscard]] std::vector<SymbolInfo> take_symbols();

 private:
  struct Key {
    std::uint64_t address;  ///< lookup address, or that of the explicit Frame
    std::uint64_t method;
    std::uint64_t stub_target;
    std::uint32_t kind_and_identifier;
    friend bool operator==(const Key&, const Key&) = default;
  };
  /// A place and the number of its name. Open addressing: what was seen is found with one look, as a rule.
  struct Slot {
    Key key;
    std::uint32_t symbol = 0;
    bool is_used = false;
  };
  static Key key_of(const Frame& frame);
  static std::size_t hash_of(const Key& key);
  [[nodiscard]] Slot& slot_of(const Key& key);
  void grow();

  std::vector<NameProvider*> providers_;
  std::deque<SymbolInfo> symbols_;
  std::vector<Slot> known_;  ///< a power of two, at most half of it used
  std::size_t used_ = 0;
};

}  // namespace mixstack
