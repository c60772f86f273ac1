#include "process/core/image_proof.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace mixstack::process {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kPagesOfARegion = 4, kPagesInAll = 64;
constexpr std::size_t kPointerPages = 64;   // pages of data sections whose pointers are compared
constexpr std::size_t kEnoughPointers = 8;  // that agree, with at most one in twenty that does not
constexpr std::size_t kToleranceOneIn = 20;

/// Pages of mappings that the program cannot have written, compared with the file's.
class PageComparison {
 public:
  PageComparison(const FileBytes& file, std::span<const std::unique_ptr<ImagePlacement>> placements,
                 const DumpedMemory& dumped)
      : file_(file), placements_(placements), dumped_(dumped) {}

  void compare(const Region& region) {
    Address at = dumped_.next_dumped(region.range.begin, region.range.end);
    for (std::size_t i = 0; i < kPagesOfARegion && at < region.range.end && done_ < kPagesInAll; i++) {
      compare_page(region, at & ~Address{kPage - 1});
      at = dumped_.next_dumped((at & ~Address{kPage - 1}) + kPage, region.range.end);
    }
  }
  [[nodiscard]] bool headers_agree() const { return headers_agree_; }
  [[nodiscard]] bool headers_differ() const { return headers_differ_; }
  [[nodiscard]] std::size_t equal() const { return equal_; }
  [[nodiscard]] std::size_t different() const { return different_; }

 private:
  void compare_page(const Region& region, Address page) {
    const ImagePlacement* image = placement_at(placements_, page);
    if (image != nullptr && image->is_changeable(page)) return;
    const std::uint64_t offset = region.file_offset + (page - region.range.begin);
    const std::uint64_t held = file_.size() > offset ? std::min<std::uint64_t>(kPage, file_.size() - offset) : 0;
    const auto from_file = file_.range(offset, held);
    std::array<std::byte, kPage> ours{}, theirs{};
    if (from_file.empty() || !dumped_.read_exact(page, std::span(theirs).first(from_file.size()))) return;
    std::memcpy(ours.data(), from_file.data(), from_file.size());
    if (image != nullptr) image->relocate(page, std::span(ours).first(from_file.size()));
    done_++;
    const bool same = std::memcmp(ours.data(), theirs.data(), from_file.size()) == 0;
    const bool has_content = std::any_of(theirs.begin(), theirs.end(), [](std::byte b) { return b != std::byte{0}; });
    if (!has_content && same) return;
    same ? equal_++ : different_++;
    const bool is_header = image != nullptr && page == image->range().begin;
    if (is_header) (same ? headers_agree_ : headers_differ_) = true;
  }

  const FileBytes& file_;
  std::span<const std::unique_ptr<ImagePlacement>> placements_;
  const DumpedMemory& dumped_;
  std::size_t done_ = 0, equal_ = 0, different_ = 0;
  bool headers_agree_ = false, headers_differ_ = false;
};

struct PointerCount {
  std::size_t agree = 0, differ = 0;
};

/// Import cells of a ReadyToRun image hold, until they are resolved, pointers to thunks of the same image, which differ
/// from build to build; resolved ones lead elsewhere and tell nothing.
[[nodiscard]] PointerCount compare_pointers(const ImagePlacement& image, const DumpedMemory& dumped) {
  PointerCount count;
  const auto relocations = image.relocations();
  const std::size_t stride = std::max<std::size_t>(1, relocations.size() / (kPointerPages * kPage / 8));
  for (std::size_t i = 0; i < relocations.size(); i += stride) {
    const auto& r = relocations[i];
    const auto value = dumped.read<std::uint64_t>(r.address + image.load_bias());
    if (!r.known || !value || !image.range().contains(*value)) continue;
    *value == r.value + image.load_bias() ? count.agree++ : count.differ++;
  }
  return count;
}

[[nodiscard]] ProofResult by_pointers(std::span<const std::unique_ptr<ImagePlacement>> placements,
                                      const DumpedMemory& dumped) {
  PointerCount sum;
  for (const auto& p : placements) {
    if (p->kind() != ImagePlacement::Kind::pe) continue;
    const PointerCount count = compare_pointers(*p, dumped);
    sum.agree += count.agree;
    sum.differ += count.differ;
  }
  if (sum.agree >= kEnoughPointers && sum.differ <= sum.agree / kToleranceOneIn) return {ImageProof::proven, {}};
  if (sum.differ > sum.agree)
    return {ImageProof::refuted,
            fmt::format("{} of {} pointers of its data differ", sum.differ, sum.agree + sum.differ)};
  return {ImageProof::unproven, {}};
}

[[nodiscard]] ProofResult by_build_id(std::span<const std::unique_ptr<ImagePlacement>> placements,
                                      const images::BuildId& expected) {
  for (const auto& p : placements) {
    if (p->kind() != ImagePlacement::Kind::elf) continue;
    if (p->build_id() == expected) return {ImageProof::proven, {}};
    return {ImageProof::refuted, fmt::format("its build id is {}, the core's {}",
                                             p->build_id().empty() ? "missing" : p->build_id().hex(), expected.hex())};
  }
  return {ImageProof::refuted, fmt::format("it is no ELF image; the core's has build id {}", expected.hex())};
}

}  // namespace

ProofResult prove_image(const FileBytes& file, std::span<const std::unique_ptr<ImagePlacement>> placements,
                        std::span<const Region> mappings, const DumpedMemory& dumped, Arch arch,
                        const images::BuildId& expected) {
  for (const auto& p : placements)
    if (p->kind() == ImagePlacement::Kind::elf && p->arch() != arch)
      return {ImageProof::refuted, "it is for another CPU"};
  if (!expected.empty()) return by_build_id(placements, expected);
  PageComparison pages(file, placements, dumped);
  for (const Region& m : mappings) {
    if (m.file_offset >= file.size()) return {ImageProof::refuted, "it is shorter than what was mapped"};
    if (!m.writable) pages.compare(m);
  }
  if (pages.headers_differ()) return {ImageProof::refuted, "its headers differ from those in the core"};
  if (pages.different() > pages.equal())
    return {ImageProof::refuted,
            fmt::format("{} of {} pages differ", pages.different(), pages.equal() + pages.different())};
  if (pages.headers_agree()) return {ImageProof::proven, {}};
  return by_pointers(placements, dumped);
}

}  // namespace mixstack::process
