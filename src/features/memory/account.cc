// Input: a running process, and the ranges that its runtimes know. Output: lines that add up to what is resident.
// Algorithm: sources claim ranges of the address space, the surest first: the runtimes (regions of the collector, code,
// loader), the allocator's arenas, stacks of threads; then each mapping claims the rest of itself by its kind, as
// unknown where it has none. The kernel tells which pages are there; each page is split by the claims. So the
// sum of all lines is what is resident, whatever the sources say.
// Order: mappings; claims; pages.
// Bounds: the sources' own; one pass over the mappings that have pages at all.
#include "features/memory/account.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

#include "base/words/memory_details.h"
#include "features/memory/malloc_arenas.h"
#include "features/memory/range_map.h"
#include "features/memory/stack_ranges.h"
#include "process/kernel/memory_map.h"
#include "process/live/kernel_counters.h"
#include "process/live/resident_pages.h"

namespace mixstack::memory_use {
namespace {

using process::ResidentMapping;

constexpr std::size_t kMostUnknown = 10;

/// Labels by number.
class Labels {
 public:
  RangeMap::Label of(MemoryKind kind, std::string_view detail) {
    const auto [it, is_new] = numbers_.try_emplace({kind, std::string(detail)}, lines_.size());
    if (is_new) lines_.push_back({kind, std::string(detail)});
    return static_cast<RangeMap::Label>(it->second);
  }
  [[nodiscard]] std::vector<MemoryLine>& lines() { return lines_; }

 private:
  std::map<std::pair<MemoryKind, std::string>, std::size_t> numbers_;
  std::vector<MemoryLine> lines_;
};

bool is_shared_memory(const Region& r) {
  const std::string_view path = r.path;
  return path.starts_with("/memfd:") || path.starts_with("/dev/shm/") || path.starts_with("/SYSV") ||
         path == "/dev/zero" || (r.shared && path.empty());
}

AddressRange common(AddressRange a, AddressRange b) {
  const Address begin = std::max(a.begin, b.begin), end = std::min(a.end, b.end);
  return begin < end ? AddressRange{begin, end} : AddressRange{};
}

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

struct Label {
  MemoryKind kind = MemoryKind::unknown;
  std::string_view detail;
};

/// A mapping by itself, where nothing surer is known of it.
Label label_of(const Region& r, const TargetInfo& target, std::string_view allocator) {
  const std::string_view path = r.path, name = file_name(path);
  const bool is_glibc = allocator.empty() || allocator == "glibc";
  // Such memory that nobody else claims is the allocator's, or another library's that maps memory for itself.
  const bool is_allocators = !is_glibc && !r.shared && r.writable && !r.executable;
  const Label anonymous = is_allocators ? Label{MemoryKind::malloc_other, allocator} : Label{};
  if (path.starts_with("/memfd:doublemapper")) return {MemoryKind::runtime_stubs, ""};
  if (path == "[heap]") return is_glibc ? Label{MemoryKind::malloc_unwalked, "heap of brk"} : anonymous;
  if (path.starts_with("[stack")) return {MemoryKind::stack, ""};
  if (path.starts_with("[anon")) return anonymous;
  if (path.starts_with("[")) return {MemoryKind::kernel, ""};
  if (is_shared_memory(r)) return {MemoryKind::shared, ""};
  if (!path.empty()) {
    if (name.ends_with(".dll") || name.ends_with(".exe")) return {MemoryKind::file_assembly, ""};
    const bool is_program = path == target.executable || name.ends_with(".so") || name.find(".so.") != name.npos;
    return {is_program ? MemoryKind::file_program : MemoryKind::file_other, ""};
  }
  return anonymous;
}

class Accountant {
 public:
  Accountant(const Target& target, std::vector<ManagedMemory> managed) : target_(target) {
    out_.managed = std::move(managed);
  }

  Result<MemoryAccount> make() {
    auto proc = process::ProcDir::open(target_.info().pid);
    if (!proc) return fail(proc.error());
    if (auto labelled = label(*proc); !labelled) return fail(labelled.error());
    if (auto counted = count(*proc); !counted) return fail(counted.error());
    const KernelCounters kernel = process::kernel_counters(*proc);
    out_.limit = kernel.memory_limit;
    out_.used_of_limit = kernel.memory_used;
    finish();
    return std::move(out_);
  }

  Result<LabelledSpace> make_labels() {
    auto proc = process::ProcDir::open(target_.info().pid);
    if (!proc) return fail(proc.error());
    if (auto labelled = label(*proc); !labelled) return fail(labelled.error());
    return LabelledSpace{std::move(map_), std::move(labels_.lines()), std::move(regions_)};
  }

 private:
  Result<void> label(const process::ProcDir& proc) {
    auto mappings = process::resident_mappings(proc);
    if (!mappings) return fail(mappings.error());
    mappings_ = std::move(*mappings);
    for (const ResidentMapping& m : mappings_) regions_.push_back(m.region);
    claim_managed();
    claim_malloc(proc);
    claim_stacks(proc);
    // The kernel makes one mapping of neighbours, so that what is known by its range comes before the mappings.
    const auto freed = labels_.of(MemoryKind::gc_other, "");
    for (const ManagedMemory& m : out_.managed)
      for (const Region& r : regions_)
        if (r.path.empty() && !r.shared) map_.claim(common(r.range, m.collector), freed);
    for (const Region& r : regions_) {
      const Label label = label_of(r, target_.info(), out_.allocator);
      map_.claim(r.range, labels_.of(label.kind, label.detail));
    }
    map_.settle();
    return {};
  }

  /// Copies of assemblies, where the mappings are of no files.
  void claim_unpacked(const LabelledRange& image) {
    const auto label = labels_.of(image.kind, image.detail);
    auto r = std::partition_point(regions_.begin(), regions_.end(),
                                  [&](const Region& one) { return one.range.end <= image.range.begin; });
    for (; r != regions_.end() && r->range.begin < image.range.end; ++r)
      if (r->path.empty() || r->path.starts_with("/dev/zero")) map_.claim(common(r->range, image.range), label);
  }

  void claim_managed() {
    for (const ManagedMemory& managed : out_.managed) {
      for (const LabelledRange& r : managed.ranges)
        if (r.detail == kUnpackedAssemblies)
          claim_unpacked(r);
        else
          map_.claim(r.range, labels_.of(r.kind, r.detail));
      out_.diagnoses.insert(out_.diagnoses.end(), managed.missing.begin(), managed.missing.end());
    }
  }

  void claim_malloc(const process::ProcDir& proc) {
    out_.allocator = allocator_of(regions_);
    if (out_.allocator == "musl") return;
    MallocUse use = malloc_use(target_.memory(), regions_, target_.info().page_size);
    for (const MallocRange& r : use.ranges) map_.claim(r.range, labels_.of(r.kind, ""));
    if (!use.arenas.empty()) claim_large_blocks(proc);
    if (out_.allocator == "glibc" && use.arenas.empty())
      out_.diagnoses.push_back({{ErrorCode::not_found, 0, 0}, "malloc", "the arenas of glibc were not recognised"});
    out_.arenas = std::move(use.arenas);
  }

  /// Large blocks of malloc, whose mappings the kernel may have made one with others: their first pages are resident.
  void claim_large_blocks(const process::ProcDir& proc) {
    auto pages = process::ResidentPages::open(proc);
    if (!pages) return;
    const auto label = labels_.of(MemoryKind::malloc_large, "");
    LargeBlocks blocks(target_.memory(), target_.info().page_size);
    for (const ResidentMapping& m : mappings_) {
      if (m.resident == 0 || !LargeBlocks::may_be_in(m.region) || is_in_collector(m.region.range.begin)) continue;
      (void)pages->each(m.region.range, [&](AddressRange present) {
        blocks.find(m.region, present, [&](AddressRange block) { map_.claim(block, label); });
      });
    }
  }
  [[nodiscard]] bool is_in_collector(Address a) const {
    return std::any_of(out_.managed.begin(), out_.managed.end(),
                       [&](const ManagedMemory& m) { return m.collector.contains(a); });
  }

  /// A thread that runs does not tell where its stack is: it is asked some times.
  void claim_stacks(const process::ProcDir& proc) {
    constexpr int kMostLooks = 5;
    constexpr std::chrono::milliseconds kBetween{1};
    const auto label = labels_.of(MemoryKind::stack, "");
    std::vector<AddressRange> known;
    for (const ManagedMemory& managed : out_.managed)
      for (const AddressRange& stack : managed.stacks) {
        const Region* r = process::find_region(regions_, stack.end - 1);
        if (r == nullptr || !is_of_stacks(*r)) continue;
        known.push_back({r->range.begin, stack.end});
        map_.claim(known.back(), label);
      }
    std::sort(known.begin(), known.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
    const auto is_known = [&](Address sp) {
      const auto at =
          std::upper_bound(known.begin(), known.end(), sp, [](Address a, const auto& k) { return a < k.begin; });
      return at != known.begin() && std::prev(at)->contains(sp);
    };
    const auto claim = [&](Address sp) {
      const Region* r = process::find_region(regions_, sp);
      if (r == nullptr || !is_of_stacks(*r)) return false;
      map_.claim(stack_of(target_.memory(), *r, sp, target_.info().page_size, target_.info().arch), label);
      return true;
    };
    auto tasks = proc.tasks();
    if (!tasks) return;
    std::vector<ThreadId> left = std::move(*tasks);
    for (int looks = 0; looks < kMostLooks && !left.empty(); looks++) {
      if (looks != 0) std::this_thread::sleep_for(kBetween);
      std::erase_if(left, [&](ThreadId tid) {
        const Address sp = proc.thread_stack_pointer(tid);
        return sp != 0 && (is_known(sp) || claim(sp));
      });
    }
  }

  Result<void> count(const process::ProcDir& proc) {
    auto pages = process::ResidentPages::open(proc);
    if (!pages) return fail(pages.error());
    auto& lines = labels_.lines();
    const auto unknown = labels_.of(MemoryKind::unknown, "");
    for (const ResidentMapping& m : mappings_) {
      out_.resident_by_kernel += m.resident;
      out_.swapped += m.swapped;
      if (m.region.readable)
        map_.split(m.region.range, [&](AddressRange r, RangeMap::Label l) { lines[l].size += r.size(); });
      if (m.resident == 0) continue;
      std::uint64_t stray = 0;
      const bool is_told = pages->each_counted(m, [&](AddressRange present) {
        map_.split(present, [&](AddressRange r, RangeMap::Label l) {
          lines[l].resident += r.size();
          out_.resident += r.size();
          if (l == unknown) stray += r.size();
        });
      });
      if (!is_told) return fail(ErrorCode::process_changed);
      if (stray != 0) add_unknown(m.region, stray);
    }
    if (!pages->is_exact())
      out_.diagnoses.push_back(
          {{ErrorCode::unsupported, 0, 0},
           "pages",
           "the kernel (before 6.7) does not tell the page of zeros from pages in common with others"});
    return {};
  }

  void add_unknown(const Region& r, std::uint64_t resident) {
    std::string rights{r.readable ? 'r' : '-', r.writable ? 'w' : '-', r.executable ? 'x' : '-', r.shared ? 's' : 'p'};
    out_.unknown.push_back({r.range, std::move(rights), r.path, resident});
  }

  void finish() {
    const auto more = [](const auto& a, const auto& b) { return a.resident > b.resident; };
    out_.lines = std::move(labels_.lines());
    std::erase_if(out_.lines, [](const MemoryLine& l) { return l.resident == 0; });
    std::stable_sort(out_.lines.begin(), out_.lines.end(), more);
    std::stable_sort(out_.unknown.begin(), out_.unknown.end(), more);
    if (out_.unknown.size() > kMostUnknown) out_.unknown.resize(kMostUnknown);
  }

  const Target& target_;
  std::vector<ResidentMapping> mappings_;
  std::vector<Region> regions_;
  RangeMap map_;
  Labels labels_;
  MemoryAccount out_;
};

}  // namespace

Result<MemoryAccount> account_of(const Target& target, std::vector<ManagedMemory> managed) {
  return Accountant(target, std::move(managed)).make();
}

Result<LabelledSpace> labelled_space(const Target& target, std::vector<ManagedMemory> managed) {
  return Accountant(target, std::move(managed)).make_labels();
}

}  // namespace mixstack::memory_use
