#include "engine/walk/copied_code_stepper.h"

#include <algorithm>

#include "base/system/byte_cursor.h"
#include "engine/unwind/apply.h"

namespace mixstack::walk {
namespace {

constexpr std::size_t kAlignment = 16;   // of functions (LEAF_ENTRY)
constexpr std::size_t kMinFunction = 9;  // shorter ones prove nothing
constexpr std::size_t kMaxFunction = 4096;
constexpr Address kPage = 4096;

std::uint8_t byte_at(std::span<const std::byte> s, std::size_t i) { return static_cast<std::uint8_t>(s[i]); }

/// Length of the opcode of `movabs imm64, reg` at `i`: REX.W B8+r (Intel SDM volume 2, MOV).
bool is_movabs(std::span<const std::byte> s, std::size_t i) {
  return i + 10 <= s.size() && (byte_at(s, i) & 0xf8) == 0x48 && (byte_at(s, i + 1) & 0xf8) == 0xb8;
}

}  // namespace

bool equal_up_to_immediates(std::span<const std::byte> original, std::span<const std::byte> copy) {
  if (original.size() != copy.size()) return false;
  for (std::size_t i = 0; i < original.size(); i++) {
    if (original[i] != copy[i]) return false;
    if (is_movabs(original, i) && original[i + 1] == copy[i + 1]) i += 9;
  }
  return true;
}

CopiedCodeStepper::CopiedCodeStepper(const images::ModuleMap& modules, std::vector<ModuleIndex> originals,
                                     std::span<const Region> regions, bool rights_may_be_lost, const MemoryReader& code,
                                     std::shared_ptr<unwind::UnwindTables> tables, std::uint64_t pac_mask)
    : modules_(modules),
      candidates_(std::move(originals)),
      regions_(regions),
      rights_may_be_lost_(rights_may_be_lost),
      code_(code),
      tables_(std::move(tables)),
      pac_mask_(pac_mask) {}

const Region* CopiedCodeStepper::region_of(Address pc) const {
  auto it = std::upper_bound(regions_.begin(), regions_.end(), pc,
                             [](Address a, const Region& r) { return a < r.range.begin; });
  if (it == regions_.begin() || !std::prev(it)->range.contains(pc)) return nullptr;
  const Region& region = *std::prev(it);
  return region.executable || (rights_may_be_lost_ && region.readable) ? &region : nullptr;
}

void CopiedCodeStepper::load_originals() {
  if (!originals_.empty()) return;
  for (const ModuleIndex m : candidates_) {
    auto image = modules_.image(m);
    if (!image) continue;
    Original o{m, *image, tables_->of(*image), {}};
    for (const std::uint64_t start : o.table->function_starts())
      if (const auto head = base::load_at<std::uint64_t>(o.image->bytes_at(start, 8), 0))
        o.by_head.emplace(*head, start);
    originals_.push_back(std::move(o));
  }
}

void CopiedCodeStepper::match_at(std::size_t original, Address base, std::span<const std::byte> bytes, std::size_t at,
                                 std::vector<Copy>& out) const {
  const auto head = base::load_at<std::uint64_t>(bytes, at);
  if (!head || *head == 0) return;
  const Original& o = originals_[original];
  const auto [first, last] = o.by_head.equal_range(*head);
  for (auto it = first; it != last; ++it) {
    const auto function = o.table->function_at(it->second);
    if (!function || function->begin != it->second) continue;
    const std::size_t size = static_cast<std::size_t>(function->size());
    if (size < kMinFunction || size > kMaxFunction || size > bytes.size() - at) continue;
    if (!equal_up_to_immediates(o.image->bytes_at(it->second, size), bytes.subspan(at, size))) continue;
    out.push_back({{base + at, base + at + size}, original, it->second});
    return;
  }
}

/// The mapping may be a JIT's whole heap: createdump merges adjacent mappings into one segment.
const std::vector<CopiedCodeStepper::Copy>& CopiedCodeStepper::copies_near(Address pc, const Region& region) {
  const Address page = pc & ~(kPage - 1);
  const auto [it, is_new] = copies_.try_emplace(page);
  if (!is_new) return it->second;
  load_originals();
  const Address before = std::min<Address>(page - std::min(page, region.range.begin), kMaxFunction);
  const Address after = std::min<Address>(region.range.end - page, kPage + kMaxFunction);
  std::vector<std::byte> bytes(before + after);
  // Page by page: the one before may be missing, and zeros are not code.
  for (std::size_t at = 0; at < bytes.size(); at += kPage) {
    const auto part = std::span(bytes).subspan(at, std::min<std::size_t>(kPage, bytes.size() - at));
    if (!code_.read_exact(page - before + at, part)) std::fill(part.begin(), part.end(), std::byte{0});
  }
  for (std::size_t i = 0; i < originals_.size(); i++)
    for (std::size_t at = 0; at < bytes.size(); at += kAlignment) match_at(i, page - before, bytes, at, it->second);
  return it->second;
}

bool CopiedCodeStepper::claim(Frame& frame) {
  const Address pc = frame.pc.lookup();
  const Region* region = candidates_.empty() ? nullptr : region_of(pc);
  if (region == nullptr) return false;
  for (const Copy& c : copies_near(pc, *region)) {
    if (!c.range.contains(pc)) continue;
    frame.kind = FrameKind::native;
    frame.module = originals_[c.original].module;
    frame.module_offset = c.link_address + (pc - c.range.begin);
    return true;
  }
  return false;
}

StepOutcome CopiedCodeStepper::step(Cursor& cursor, const ThreadInput& thread) {
  StepOutcome outcome;
  outcome.stepper = StepperId::eh_frame;
  const auto found = std::find_if(originals_.begin(), originals_.end(),
                                  [&](const Original& o) { return o.module == cursor.frame.module; });
  if (found == originals_.end()) return outcome;
  outcome.status = StepStatus::failed;
  auto rule = found->table->rule(cursor.frame.module_offset);
  if (!rule) {
    outcome.error = rule.error();
    return outcome;
  }
  auto caller = unwind::apply(*rule, cursor.registers, cursor.frame.pc, thread.stack, pac_mask_);
  if (!caller) {
    outcome.error = caller.error();
    return outcome;
  }
  outcome.status = caller->is_end_of_stack ? StepStatus::end_of_stack : StepStatus::caller;
  return outcome;
}

}  // namespace mixstack::walk
