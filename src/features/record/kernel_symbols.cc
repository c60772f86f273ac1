#include "features/record/kernel_symbols.h"

#include <algorithm>
#include <charconv>

#include "base/system/small_file.h"

namespace mixstack::record {

void KernelSymbols::read(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    Address address = 0;
    const auto [rest, error] = std::from_chars(line.data(), line.data() + line.size(), address, 16);
    const auto at = static_cast<std::size_t>(rest - line.data());
    if (error != std::errc() || address == 0 || at + 3 >= line.size()) continue;
    const char kind = line[at + 1];
    if (kind != 'T' && kind != 't' && kind != 'W' && kind != 'w') continue;
    const std::string_view name =
        line.substr(at + 3, std::min(line.find_first_of(" \t", at + 3), line.size()) - at - 3);
    symbols_.push_back({address, static_cast<std::uint32_t>(names_.size()), static_cast<std::uint32_t>(name.size())});
    names_ += name;
  }
  std::sort(symbols_.begin(), symbols_.end(), [](const Symbol& a, const Symbol& b) { return a.address < b.address; });
}

std::string KernelSymbols::name(Address address) {
  if (!is_read_) {
    is_read_ = true;
    read(base::text_at("/proc/kallsyms", kMostBytes));
  }
  auto at = std::upper_bound(symbols_.begin(), symbols_.end(), address,
                             [](Address a, const Symbol& symbol) { return a < symbol.address; });
  if (at == symbols_.begin()) return {};
  --at;
  return names_.substr(at->name, at->size);
}

}  // namespace mixstack::record
