#include "mixstack/symbolizer.h"

#include <algorithm>
#include <iterator>

#include "engine/symbols/demangle.h"

namespace mixstack {
namespace {

constexpr std::size_t kFirstSlots = 1024;
constexpr std::uint32_t kForever = UINT32_MAX;

/// Images stay as they are while they are mapped; a JIT's code and the runtime's records come and go.
bool is_of_image(const Frame& frame) { return frame.module != kNoModule && frame.kind != FrameKind::runtime_frame; }

bool is_same_name(const SymbolInfo& a, const SymbolInfo& b) {
  return a.name == b.name && a.raw_name == b.raw_name && a.module == b.module && a.module_path == b.module_path &&
         a.offset == b.offset && a.file == b.file && a.line == b.line && a.note == b.note && a.inlining == b.inlining;
}

/// Escapes control bytes in names, whatever made it (a helper that runs foreign code, a user's provider).
void make_printable(SymbolInfo& symbol) {
  for (std::string* text :
       {&symbol.name, &symbol.raw_name, &symbol.module, &symbol.module_path, &symbol.file, &symbol.note}) {
    const auto is_plain = [](char c) { return c >= 0x20 && c < 0x7f; };
    if (!std::all_of(text->begin(), text->end(), is_plain)) *text = symbols::printable(*text);
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
  // A stub that was called for a method is not shared generic code.
  const Address made_for = frame.stub_target != 0 ? frame.stub_target : frame.generic_handle;
  return {is_record ? 0 : frame.pc.lookup(), frame.method, made_for,
          static_cast<std::uint32_t>(frame.kind) | (frame.is_funclet() ? 0x80u : 0u) | frame.frame_identifier << 8};
}

Symbolizer::Symbolizer(std::vector<NameProvider*> providers)
    : providers_(std::move(providers)), symbols_(1), known_(kFirstSlots) {}

/// The one that has the key, or the free one where it belongs.
Symbolizer::Slot& Symbolizer::slot_of(const Key& key) {
  const std::size_t mask = known_.size() - 1;
  for (std::size_t i = hash_of(key);; i++) {
    Slot& slot = known_[i & mask];
    if (slot.good_until == 0 || slot.key == key) return slot;
  }
}

void Symbolizer::grow() {
  std::vector<Slot> before(known_.size() * 2);
  before.swap(known_);
  for (const Slot& s : before)
    if (s.good_until != 0) slot_of(s.key) = s;
}

std::vector<SymbolInfo> Symbolizer::ask(const Frame& frame) {
  for (NameProvider* p : providers_) {
    auto own = p->describe(frame);
    if (!own) continue;
    std::vector<SymbolInfo> all = p->describe_inlined(frame);
    if (all.size() >= kMostLogicalFrames) all.resize(kMostLogicalFrames - 1);
    all.push_back(std::move(*own));
    for (SymbolInfo& s : all) make_printable(s);
    return all;
  }
  return {};
}

/// Whether `symbol` and what it was put into are what was said now, too; then they are known to hold until now.
bool Symbolizer::extend(std::uint32_t symbol, const std::vector<SymbolInfo>& said) {
  std::uint32_t at = symbol;
  for (const SymbolInfo& s : said) {
    if (at == 0 || !is_same_name(symbols_[at], s)) return false;
    at = symbols_[at].inlined_into;
  }
  if (at != 0 || said.empty()) return false;
  for (at = symbol; at != 0; at = symbols_[at].inlined_into) symbols_[at].seen_until = instant_;
  return true;
}

std::uint32_t Symbolizer::add(std::vector<SymbolInfo> said, bool ends) {
  std::uint32_t outer = 0;
  for (auto s = said.rbegin(); s != said.rend(); ++s) {
    s->inlined_into = outer;
    if (ends) s->seen_from = s->seen_until = instant_;
    outer = static_cast<std::uint32_t>(symbols_.size());
    symbols_.push_back(std::move(*s));
  }
  return outer;
}

/// A place not seen before, or not in this era.
std::uint32_t Symbolizer::look(const Frame& frame, Slot& slot) {
  const bool ends = !is_of_image(frame), is_new = slot.good_until == 0;
  std::vector<SymbolInfo> said = ask(frame);
  const std::uint32_t symbol =
      !is_new && extend(slot.symbol, said) ? slot.symbol : add(std::move(said), ends && instant_.count() != 0);
  slot = {key_of(frame), symbol, ends ? era_ : kForever};
  if (is_new && ++used_ > known_.size() / 2) grow();
  return symbol;
}

std::uint32_t Symbolizer::name(const Frame& frame) {
  Slot& slot = slot_of(key_of(frame));
  if (slot.good_until >= era_) [[likely]]
    return slot.symbol;
  return look(frame, slot);
}

void Symbolizer::begin(std::chrono::nanoseconds instant) {
  instant_ = instant;
  era_++;
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
