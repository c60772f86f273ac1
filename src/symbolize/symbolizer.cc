#include "mixstack/symbolizer.h"

#include <algorithm>
#include <iterator>

#include "symbolize/demangle.h"

namespace mixstack {
namespace {

constexpr std::size_t kFirstSlots = 1024;

/// Whoever made a name (a helper that runs foreign code, a user's provider): control bytes end here.
void make_printable(SymbolInfo& symbol) {
  for (std::string* text :
       {&symbol.name, &symbol.raw_name, &symbol.module, &symbol.module_path, &symbol.file, &symbol.note}) {
    const auto is_plain = [](char c) { return c >= 0x20 && c < 0x7f; };
    if (!std::all_of(text->begin(), text->end(), is_plain)) *text = symbolize::printable(*text);
  }
}

}  // namespace

std::size_t Symbolizer::hash_of(const Key& k) {
  // Addresses are dense and aligned: one multiplication (Fibonacci hashing) spreads them over the table.
  const std::uint64_t mixed =
      (k.address ^ (k.method << 1) ^ (k.stub_target << 2) ^ k.kind_and_identifier) * 0x9e3779b97f4a7c15ull;
  return static_cast<std::size_t>(mixed ^ (mixed >> 32));
}

Symbolizer::Key Symbolizer::key_of(const Frame& frame) {
  const bool is_record = frame.kind == FrameKind::runtime_frame;
  return {is_record ? 0 : frame.pc.lookup(), frame.method, frame.stub_target,
          static_cast<std::uint32_t>(frame.kind) | (frame.is_funclet ? 0x80u : 0u) | frame.frame_identifier << 8};
}

Symbolizer::Symbolizer(std::vector<NameProvider*> providers)
    : providers_(std::move(providers)), symbols_(1), known_(kFirstSlots) {}

/// The one that has the key, or the free one where it belongs.
Symbolizer::Slot& Symbolizer::slot_of(const Key& key) {
  const std::size_t mask = known_.size() - 1;
  for (std::size_t i = hash_of(key);; i++) {
    Slot& slot = known_[i & mask];
    if (!slot.is_used || slot.key == key) return slot;
  }
}

void Symbolizer::grow() {
  std::vector<Slot> before(known_.size() * 2);
  before.swap(known_);
  for (const Slot& s : before)
    if (s.is_used) slot_of(s.key) = s;
}

std::uint32_t Symbolizer::name(const Frame& frame) {
  const Key key = key_of(frame);
  if (const Slot& known = slot_of(key); known.is_used) [[likely]]
    return known.symbol;
  std::uint32_t symbol = 0;
  for (NameProvider* p : providers_) {
    if (auto info = p->describe(frame)) {
      make_printable(*info);
      symbol = static_cast<std::uint32_t>(symbols_.size());
      symbols_.push_back(std::move(*info));
      break;
    }
  }
  if (++used_ > known_.size() / 2) grow();
  slot_of(key) = {key, symbol, true};
  return symbol;
}

std::vector<SymbolInfo> Symbolizer::take_symbols() {
  std::vector<SymbolInfo> all(std::make_move_iterator(symbols_.begin()), std::make_move_iterator(symbols_.end()));
  symbols_.clear();
  symbols_.emplace_back();
  known_.assign(kFirstSlots, {});
  used_ = 0;
  return all;
}

}  // namespace mixstack
