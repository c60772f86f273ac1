#include "mixstack/symbolizer.h"

#include <algorithm>
#include <iterator>

#include "symbolize/demangle.h"

namespace mixstack {
namespace {

/// Whoever made a name (a helper that runs foreign code, a user's provider): control bytes end here.
void make_printable(SymbolInfo& symbol) {
  for (std::string* text :
       {&symbol.name, &symbol.raw_name, &symbol.module, &symbol.module_path, &symbol.file, &symbol.note}) {
    const auto is_plain = [](char c) { return c >= 0x20 && c < 0x7f; };
    if (!std::all_of(text->begin(), text->end(), is_plain)) *text = symbolize::printable(*text);
  }
}

}  // namespace

std::size_t Symbolizer::KeyHash::operator()(const Key& k) const {
  // Addresses are dense and aligned: one multiplication (Fibonacci hashing) spreads them over the buckets.
  const std::uint64_t mixed =
      (k.address ^ (k.method << 1) ^ (k.stub_target << 2) ^ k.kind_and_identifier) * 0x9e3779b97f4a7c15ull;
  return static_cast<std::size_t>(mixed ^ (mixed >> 32));
}

Symbolizer::Key Symbolizer::key_of(const Frame& frame) {
  const bool is_record = frame.kind == FrameKind::runtime_frame;
  return {is_record ? 0 : frame.pc.lookup(), frame.method, frame.stub_target,
          static_cast<std::uint32_t>(frame.kind) | (frame.is_funclet ? 0x80u : 0u) | frame.frame_identifier << 8};
}

Symbolizer::Symbolizer(std::vector<NameProvider*> providers) : providers_(std::move(providers)), symbols_(1) {
  known_.reserve(1024);
}

std::uint32_t Symbolizer::name(const Frame& frame) {
  const auto [it, is_new] = known_.try_emplace(key_of(frame), 0);
  if (!is_new) return it->second;
  for (NameProvider* p : providers_) {
    if (auto info = p->describe(frame)) {
      make_printable(*info);
      it->second = static_cast<std::uint32_t>(symbols_.size());
      symbols_.push_back(std::move(*info));
      break;
    }
  }
  return it->second;
}

std::vector<SymbolInfo> Symbolizer::take_symbols() {
  std::vector<SymbolInfo> all(std::make_move_iterator(symbols_.begin()), std::make_move_iterator(symbols_.end()));
  symbols_.clear();
  symbols_.emplace_back();
  known_.clear();
  return all;
}

}  // namespace mixstack
