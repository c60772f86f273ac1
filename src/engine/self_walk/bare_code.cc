#include "engine/self_walk/bare_code.h"

#include <link.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <unordered_map>

#include "engine/images/elf_image.h"
#include "engine/images/file_bytes.h"
#include "engine/self_walk/host.h"
#include "engine/unwind/eh_frame_hdr.h"
#include "engine/unwind/prologue/code_functions.h"
#include "engine/unwind/prologue/prologue.h"

namespace mixstack::self_walk {
namespace {

// Usual code has an entry for every few hundred bytes.
constexpr std::uint64_t kLeastCode = 4 << 10, kBytesAnEntry = 4096;

struct Loaded {
  std::string path;
  Address bias = 0;
  std::vector<AddressRange> code;  ///< link-time addresses
};

[[nodiscard]] std::span<const std::byte> bytes_at(Address address, std::uint64_t size) {
  return {reinterpret_cast<const std::byte*>(static_cast<std::uintptr_t>(address)), static_cast<std::size_t>(size)};
}

int collect(dl_phdr_info* info, std::size_t, void* data) {
  Loaded loaded{info->dlpi_name, info->dlpi_addr, {}};
  std::uint64_t size = 0, entries = 0;
  for (unsigned i = 0; i < info->dlpi_phnum; i++) {
    const auto& p = info->dlpi_phdr[i];
    if (p.p_type == PT_GNU_EH_FRAME) {
      const Address at = info->dlpi_addr + p.p_vaddr;
      if (const auto header = unwind::read_eh_frame_hdr(bytes_at(at, p.p_memsz), at, 8)) entries = header->count;
    }
    if (p.p_type != PT_LOAD || (p.p_flags & (PF_R | PF_X)) != (PF_R | PF_X)) continue;
    loaded.code.push_back({p.p_vaddr, p.p_vaddr + p.p_filesz});
    size += p.p_filesz;
  }
  if (size >= kLeastCode && entries * kBytesAnEntry < size)
    static_cast<std::vector<Loaded>*>(data)->push_back(std::move(loaded));
  return 0;
}

struct Hash {
  std::size_t operator()(const unwind::CompactRule& r) const { return static_cast<std::size_t>(hash_of(r)); }
};
struct Same {
  bool operator()(const unwind::CompactRule& a, const unwind::CompactRule& b) const { return a.same_rule(b); }
};

}  // namespace

class BareCode::Builder {
 public:
  explicit Builder(BareCode& out) : out_(out) { out_.rules_.push_back(unwind::kNoCompactRule); }

  void add(const Loaded& loaded) {
    // A name that is no path (the vDSO's) would be opened in the current folder.
    if (!loaded.path.empty() && loaded.path.front() != '/') return;
    const auto file = images::open_file_bytes(loaded.path.empty() ? "/proc/self/exe" : loaded.path);
    if (!file) return;
    const auto image = images::ElfImage::from_file(*file);
    if (!image || (*image)->arch() != host::arch()) return;
    std::uint64_t size = 0;
    for (const AddressRange& code : loaded.code) {
      const auto expected = (*image)->bytes_at(code.begin, code.size());
      const auto there = bytes_at(loaded.bias + code.begin, code.size());
      if (expected.empty() || std::memcmp(expected.data(), there.data(), there.size()) != 0) return;
      size += code.size();
    }
    if (size > kMostCode - total_) return;
    total_ += size;
    const unwind::CodeFunctions functions(**image);
    for (const AddressRange& code : loaded.code)
      out_.images_.push_back(
          {{loaded.bias + code.begin, loaded.bias + code.end}, rows_of(functions, loaded.bias, code)});
  }

 private:
  std::vector<Row> rows_of(const unwind::CodeFunctions& functions, Address bias, AddressRange code) {
    std::vector<Row> rows;
    const auto add = [&](std::uint64_t address, std::uint32_t rule) {
      if (rows.empty() || rows.back().rule != rule)
        rows.push_back({static_cast<std::uint32_t>(address - code.begin), rule});
    };
    for (const std::uint64_t start : functions.starts()) {
      const auto function = functions.around(start);
      if (!code.contains(start) || !function) continue;
      const std::uint64_t end = std::min(function->end, code.end);
      unwind::each_prologue_rule(host::arch(), bytes_at(bias + start, end - start),
                                 [&](std::size_t offset, const Result<unwind::UnwindRule>& rule) {
                                   add(start + offset, rule ? number_of(*rule) : 0);
                                 });
      if (end - start > unwind::kMaxPrologueCode) add(start + unwind::kMaxPrologueCode, 0);
    }
    rows.shrink_to_fit();
    return rows;
  }

  [[nodiscard]] std::uint32_t number_of(unwind::UnwindRule rule) {
    rule.trust = Trust::certain;  // else it would have no compact form
    const auto small = unwind::compact(rule, host::arch());
    if (!small) return 0;
    const auto [at, is_new] = numbers_.try_emplace(*small, static_cast<std::uint32_t>(out_.rules_.size()));
    if (is_new) out_.rules_.push_back(*small);
    return at->second;
  }

  BareCode& out_;
  std::uint64_t total_ = 0;
  std::unordered_map<unwind::CompactRule, std::uint32_t, Hash, Same> numbers_;
};

BareCode BareCode::of_loaded_images() {
  std::vector<Loaded> loaded;
  dl_iterate_phdr(collect, &loaded);
  BareCode code;
  Builder builder(code);
  for (std::size_t i = 0; i < std::min(loaded.size(), kMostImages); i++) builder.add(loaded[i]);
  return code;
}

Result<unwind::UnwindRule> BareCode::rule(CodeAddress pc) const {
  const Address address = pc.lookup();
  const Image* image = image_of(address);
  if (image == nullptr) return fail(ErrorCode::not_found, address);
  const auto offset = static_cast<std::uint32_t>(address - image->code.begin);
  std::size_t low = 0, high = image->rows.size();
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (image->rows[middle].offset <= offset) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  const std::uint32_t number = low == 0 ? 0 : image->rows[low - 1].rule;
  if (number == 0) return fail(ErrorCode::no_unwind_info, address);
  auto rule = unwind::expand(rules_[number], host::arch());
  rule.trust = Trust::prologue;
  return rule;
}

}  // namespace mixstack::self_walk
