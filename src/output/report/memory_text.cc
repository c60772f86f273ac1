// Input: a MemoryReport: holders, heaps by type, the account of all mappings; any of them may be missing.
// Output: text for a terminal through a Writer, and the words of each kind of memory.
// Algorithm: one function for each part. Lines are sorted by bytes; small ones are left out or summed in the last line.
// Order: the answer to a question (who holds, which types) stands in the first screen, the account below it.
// Bounds: kMostTypes, kMostUnknown and kMostArenas lines; parts under kLeastShown and kLeastShare are summed.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "output/report/escape.h"
#include "output/report/heap_elements.h"
#include "output/report/memory.h"
#include "output/report/words.h"

namespace mixstack::report {
namespace {

constexpr std::uint64_t kLeastShown = 100'000, kLeastShare = 100;  // bytes; a part of all of them
constexpr std::uint64_t kManyGaps = 2;                             // a part of all objects
constexpr std::size_t kMostTypes = 25, kMostUnknown = 3, kMostArenas = 3;

/// "12.4 MB": one decimal, so that a column can be added up by eye.
std::string megabytes(std::uint64_t bytes) { return fmt::format("{:.1f}", static_cast<double>(bytes) / 1e6); }

std::string percent(std::uint64_t part, std::uint64_t all) {
  return all == 0 ? std::string()
                  : fmt::format("{:.0f} %", 100.0 * static_cast<double>(part) / static_cast<double>(all));
}

std::string title(const MemoryReport& report) {
  if (!report.core_path.empty()) return "core " + escape_for_terminal(report.core_path);
  const std::string pid = fmt::format("process {}", report.pid);
  return report.name.empty() ? pid : fmt::format("{} ({})", pid, escape_for_terminal(report.name));
}

void write_limit(Writer& out, const MemoryAccount& account) {
  if (!account.limit) return;
  out << "; its cgroup may use " << size_words(*account.limit);
  if (account.used_of_limit)
    out << fmt::format(" and uses {} ({})", size_words(*account.used_of_limit),
                       percent(*account.used_of_limit, *account.limit));
}

void write_managed(Writer& out, const ManagedMemory& managed) {
  if (!managed.is_known) return;
  const std::uint64_t all = std::accumulate(managed.objects.begin(), managed.objects.end(), std::uint64_t{0});
  out << fmt::format("managed heap ({}{}): {} MB of objects, garbage included",
                     managed.is_server ? "server" : "workstation",
                     managed.heaps > 1 ? fmt::format(", {} heaps", managed.heaps) : "", megabytes(all));
  const char* separator = ": ";
  for (std::size_t g = 0; g < kHeapGenerations; g++) {
    if (managed.objects.at(g) == 0) continue;
    const auto generation = static_cast<HeapGeneration>(g);
    out << separator << (g < 3 ? "generation " : "") << generation_name(generation) << ' '
        << megabytes(managed.objects.at(g));
    separator = ", ";
  }
  out << '\n';
}

void write_arenas(Writer& out, const MemoryAccount& account) {
  if (account.arenas.empty()) return;
  std::vector<const MallocArena*> arenas;
  for (const MallocArena& a : account.arenas) arenas.push_back(&a);
  std::stable_sort(arenas.begin(), arenas.end(),
                   [](const auto* a, const auto* b) { return a->used + a->free > b->used + b->free; });
  out << fmt::format("malloc ({}): {}", account.allocator, counted(account.arenas.size(), "arena"));
  for (std::size_t i = 0; i < std::min(arenas.size(), kMostArenas); i++) {
    const MallocArena& a = *arenas[i];
    out << (i == 0 ? "; the largest: " : ", ");
    if (a.is_whole)
      out << fmt::format("{}{} MB in use and {} MB free", a.is_main ? "main " : "", megabytes(a.used),
                         megabytes(a.free));
    else
      out << "one that changed while it was read";
  }
  out << '\n';
}

void write_head(Writer& out, const MemoryReport& report) {
  out << title(report);
  if (report.account != nullptr) {
    out << ": " << megabytes(report.account->resident) << " MB resident, " << megabytes(report.account->swapped)
        << " MB swapped";
    write_limit(out, *report.account);
  }
  out << '\n';
}

void write_account(Writer& out, const MemoryAccount& account) {
  std::size_t small = 0;
  std::uint64_t of_small = 0;
  for (const MemoryLine& line : account.lines) {
    if (line.resident < kLeastShown && line.resident < account.resident / kLeastShare) {
      small++;
      of_small += line.resident;
      continue;
    }
    out << fmt::format("{:>10} MB {:>5}  {:<46}", megabytes(line.resident), percent(line.resident, account.resident),
                       label_words(line));
    const std::string_view growth = growth_words(line.kind);
    if (!growth.empty()) out << "  " << growth;
    out << '\n';
  }
  if (small != 0)
    out << fmt::format("{:>10} MB {:>5}  {}\n", megabytes(of_small), percent(of_small, account.resident),
                       counted(small, "smaller line"));
  out << fmt::format("{:>10} MB 100 %  all of it\n\n", megabytes(account.resident));
  if (account.resident != account.resident_by_kernel)
    out << fmt::format("pages came or went meanwhile: the kernel had counted {} MB\n",
                       megabytes(account.resident_by_kernel));
  for (const ManagedMemory& managed : account.managed) write_managed(out, managed);
  write_arenas(out, account);
  if (!account.allocator.empty() && account.allocator != "glibc")
    out << "malloc: " << escape_for_terminal(account.allocator) << ", whose structures are not known\n";
  for (std::size_t i = 0; i < std::min(account.unknown.size(), kMostUnknown); i++) {
    const UnknownPiece& piece = account.unknown[i];
    out << fmt::format("not known: {} MB at {:#x}-{:#x} {} {}\n", megabytes(piece.resident), piece.mapping.begin,
                       piece.mapping.end, piece.rights, escape_for_terminal(piece.path));
  }
  for (const Diagnosis& d : account.diagnoses)
    out << "note: " << escape_for_terminal(d.subject) << ": " << escape_for_terminal(d.text) << '\n';
}

std::string type_words(const TypeCount& type) {
  if (type.is_free) return "(gaps between objects)";
  return type.type.empty() ? fmt::format("(type at {:#x}, name not known)", type.method_table)
                           : escape_for_terminal(type.type);
}

/// "0 12 %, 2 88 %": the generations that its bytes lie in.
std::string spread(const TypeCount& type) {
  std::string words;
  const std::uint64_t all = type.all_bytes();
  for (std::size_t g = 0; g < kHeapGenerations; g++) {
    const std::uint64_t bytes = type.bytes.at(g);
    if (bytes == 0) continue;
    const char* name = generation_name(static_cast<HeapGeneration>(g));
    if (bytes == all) return name;
    words += fmt::format("{}{} {}", words.empty() ? "" : ", ", name, percent(bytes, all));
  }
  return words;
}

/// So much could be saved that it belongs before the types.
bool matter(const HeapElements& e, std::uint64_t of) {
  constexpr std::uint64_t kPart = 20;
  return std::max(e.duplicates.bytes, e.zeros_of_them) > of / kPart;
}

void write_types(Writer& out, const HeapTypes& heap) {
  if (heap.types.empty()) {
    out << "types: not counted: " << heap.why_not << '\n';
    return;
  }
  out << fmt::format("types: {} in {} MB, and {} MB of gaps", counted(heap.objects, "object"), megabytes(heap.bytes),
                     megabytes(heap.free_bytes));
  if (heap.stops != 0)
    out << fmt::format("; all of one moment, for which the process was stopped for {}", duration_words(heap.pause));
  out << "\n";
  if (!heap.is_exact) out << "not certain: " << heap.why_not << '\n';
  if (heap.free_bytes > heap.bytes / kManyGaps)
    out << "gaps stay where objects cannot be moved (--holders: pinned handles), and where nothing was compacted\n";
  const bool are_elements_first = heap.elements && matter(*heap.elements, heap.bytes);
  if (are_elements_first) write_elements_text(out, *heap.elements);
  out << fmt::format("\n{:>13} {:>12}  {:<40} generation\n", "MB", "objects", "type");
  std::uint64_t shown = 0;
  for (std::size_t i = 0; i < std::min(heap.types.size(), kMostTypes); i++) {
    const TypeCount& type = heap.types[i];
    shown += type.all_bytes();
    out << fmt::format("{:>13} {:>12}  {:<40} {}\n", megabytes(type.all_bytes()), type.all(), type_words(type),
                       spread(type));
  }
  if (heap.types.size() > kMostTypes)
    out << fmt::format("{:>13} {:>12}  {} more types (--json has them all)\n",
                       megabytes(heap.bytes + heap.free_bytes - shown), "", heap.types.size() - kMostTypes);
  if (heap.elements && !are_elements_first) write_elements_text(out, *heap.elements);
}

}  // namespace

std::string label_words(const MemoryLine& line) {
  const std::string_view detail = line.detail;
  const auto of_generation = [&](std::string_view what) {
    const bool is_number = detail == "0" || detail == "1" || detail == "2";
    return is_number ? fmt::format("{} of generation {}", what, detail) : fmt::format("{}, {}", what, detail);
  };
  const auto with_detail = [&](std::string_view what) {
    return detail.empty() ? std::string(what) : fmt::format("{}, {}", what, detail);
  };
  switch (line.kind) {
    case MemoryKind::gc_objects:
      return of_generation("managed objects");
    case MemoryKind::gc_committed:
      return of_generation("managed heap, room behind objects");
    case MemoryKind::gc_bookkeeping:
      return "collector's cards and marks";
    case MemoryKind::gc_other:
      return "collector's range, in no region";
    case MemoryKind::jit_code:
      return with_detail("code made by the JIT");
    case MemoryKind::loader_heap:
      return with_detail("types and methods");
    case MemoryKind::runtime_stubs:
      return "stubs of the runtime";
    case MemoryKind::malloc_used:
      return "malloc, in use";
    case MemoryKind::malloc_free:
      return "malloc, freed and kept";
    case MemoryKind::malloc_large:
      return "malloc, large blocks";
    case MemoryKind::malloc_unwalked:
      return with_detail("malloc, not walked");
    case MemoryKind::malloc_other:
      return fmt::format("{}, or mapped by other native code", detail);
    case MemoryKind::stack:
      return "stacks of threads";
    case MemoryKind::file_assembly:
      return "files: assemblies";
    case MemoryKind::file_program:
      return "files: native code and its data";
    case MemoryKind::file_other:
      return "files: others";
    case MemoryKind::shared:
      return "shared memory";
    case MemoryKind::kernel:
      return "the kernel's pages";
    case MemoryKind::unknown:
    case MemoryKind::count:
      break;
  }
  return "not known";
}

std::string_view growth_words(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::gc_objects:
      return "objects that are held, garbage and gaps (--types, --holders)";
    case MemoryKind::gc_committed:
      return "room for new objects; DOTNET_GCConserveMemory gives it back";
    case MemoryKind::gc_bookkeeping:
      return "grows with the managed heap";
    case MemoryKind::gc_other:
      return "freed by collections, given back later";
    case MemoryKind::jit_code:
      return "grows by methods and generic instances";
    case MemoryKind::loader_heap:
      return "grows by types, dynamic code, assemblies";
    case MemoryKind::runtime_stubs:
      return "grows by methods, delegates, calls of native code";
    case MemoryKind::malloc_used:
      return "grows by native libraries and the runtime";
    case MemoryKind::malloc_free:
      return "kept by glibc; MALLOC_ARENA_MAX, malloc_trim";
    case MemoryKind::malloc_large:
      return "grows by large native blocks";
    case MemoryKind::malloc_other:
      return "grows by native libraries and the runtime; not walked";
    case MemoryKind::stack:
      return "grows by threads and deep calls";
    case MemoryKind::shared:
      return "shared with other processes";
    case MemoryKind::file_assembly:
    case MemoryKind::file_program:
    case MemoryKind::file_other:
      return "the kernel can drop what was not written to";
    case MemoryKind::unknown:
      return "mapped by native code for itself (--native: where it grows)";
    default:
      return {};
  }
}

// The answer to a question stands in the first screen, and the account, which nobody has to ask for, below it.
void write_memory_text(Writer& out, const MemoryReport& report, const ReportOptions& /*options*/) {
  write_head(out, report);
  for (const HeapHolders& heap : report.holders) {
    out << '\n';
    write_holders_text(out, heap);
  }
  for (const HeapTypes& heap : report.heaps) {
    out << '\n';
    write_types(out, heap);
  }
  if (report.account == nullptr) return;
  out << '\n';
  write_account(out, *report.account);
}

}  // namespace mixstack::report
