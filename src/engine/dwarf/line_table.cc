#include "engine/dwarf/line_table.h"

#include <dwarf.h>

#include <algorithm>

#include "base/system/byte_cursor.h"

namespace mixstack::symbols {
namespace {

using Clock = std::chrono::steady_clock;

std::string text(const char* found) { return found == nullptr ? std::string() : found; }

std::string linkage_name(Dwarf_Die& function) {
  Dwarf_Attribute found;
  for (const unsigned attribute : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name})
    if (::dwarf_attr_integrate(&function, attribute, &found) != nullptr)
      if (const char* name = ::dwarf_formstring(&found)) return name;
  return text(::dwarf_diename(&function));
}

std::uint64_t number(Dwarf_Die& die, unsigned attribute) {
  Dwarf_Attribute found;
  Dwarf_Word value = 0;
  if (::dwarf_attr(&die, attribute, &found) == nullptr || ::dwarf_formudata(&found, &value) != 0) return 0;
  return value;
}

}  // namespace

/// One question: the function of a unit around an address, and the functions inlined in it, outermost first.
class LineTable::Search {
 public:
  Search(std::uint64_t address, Clock::time_point end) : address_(address), end_(end) {}

  void run(Dwarf_Die& unit) {
    Dwarf_Die function;
    if (!find_function(unit, function, false, 0) && !find_function(unit, function, true, 0)) return;
    functions.push_back(function);
    descend(function, 0);
  }

  std::vector<Dwarf_Die> functions;

 private:
  [[nodiscard]] bool is_spent() {
    if (left_ == 0 || (--left_ % 64 == 0 && Clock::now() > end_)) left_ = 0;
    return left_ == 0;
  }
  [[nodiscard]] bool has_address(Dwarf_Die& die) const { return ::dwarf_haspc(&die, address_) == 1; }

  [[nodiscard]] static bool may_hold_functions(int tag, bool everywhere) {
    if (tag == DW_TAG_namespace || tag == DW_TAG_module) return true;
    return everywhere && (tag == DW_TAG_subprogram || tag == DW_TAG_lexical_block || tag == DW_TAG_structure_type ||
                          tag == DW_TAG_class_type || tag == DW_TAG_union_type);
  }

  // Functions of a namespace may be defined in its entry, those of local classes within that of another function.
  bool find_function(Dwarf_Die& parent, Dwarf_Die& out, bool everywhere, unsigned depth) {
    Dwarf_Die child;
    if (depth > kMaxDepth || ::dwarf_child(&parent, &child) != 0) return false;
    do {
      if (is_spent()) return false;
      const int tag = ::dwarf_tag(&child);
      if (tag == DW_TAG_subprogram && has_address(child)) {
        out = child;
        return true;
      }
      if (may_hold_functions(tag, everywhere) && find_function(child, out, everywhere, depth + 1)) return true;
    } while (::dwarf_siblingof(&child, &child) == 0);
    return false;
  }

  void descend(Dwarf_Die& block, unsigned depth) {
    Dwarf_Die child;
    if (depth > kMaxDepth || ::dwarf_child(&block, &child) != 0) return;
    do {
      if (is_spent()) return;
      const int tag = ::dwarf_tag(&child);
      if ((tag != DW_TAG_inlined_subroutine && tag != DW_TAG_lexical_block) || !has_address(child)) continue;
      if (tag == DW_TAG_inlined_subroutine) functions.push_back(child);
      descend(child, depth + 1);
      return;
    } while (::dwarf_siblingof(&child, &child) == 0);
  }

  std::uint64_t address_;
  Clock::time_point end_;
  std::size_t left_ = kMaxEntries;
};

Result<std::unique_ptr<LineTable>> LineTable::open(std::shared_ptr<const images::ElfImage> image,
                                                   std::shared_ptr<const images::ElfImage> shared,
                                                   DebugSections::Packed packed, LineBudget& budget) {
  auto sections = DebugSections::open(std::move(image), std::move(shared), packed);
  if (!sections) return fail(sections.error());
  return std::unique_ptr<LineTable>(new LineTable(std::move(*sections), budget));
}

LineTable::LineTable(std::unique_ptr<DebugSections> sections, LineBudget& budget)
    : sections_(std::move(sections)), budget_(budget) {}
LineTable::~LineTable() = default;

void LineTable::index_units() {
  is_indexed_ = true;
  const auto end = Clock::now() + budget_.time;
  Dwarf_Off offset = 0, next = 0;
  std::size_t header = 0;
  while (::dwarf_nextcu(sections_->dwarf(), offset, &next, &header, nullptr, nullptr, nullptr) == 0) {
    Dwarf_Die unit;
    if (::dwarf_offdie(sections_->dwarf(), offset + header, &unit) != nullptr) {
      Dwarf_Addr base = 0, begin = 0, limit = 0;
      std::ptrdiff_t at = 0;
      while ((at = ::dwarf_ranges(&unit, at, &base, &begin, &limit)) > 0) {
        if (begin < limit) units_.push_back({begin, limit, offset + header});
        if (units_.size() >= kMaxRanges) break;
      }
    }
    if (next <= offset || units_.size() >= kMaxRanges || Clock::now() > end) break;
    offset = next;
  }
  std::sort(units_.begin(), units_.end(), [](const UnitRange& a, const UnitRange& b) { return a.begin < b.begin; });
}

std::optional<Dwarf_Die> LineTable::unit_at(std::uint64_t address) {
  Dwarf_Die unit;
  Dwarf_Aranges* ranges = nullptr;
  std::size_t count = 0;
  Dwarf_Off offset = 0;
  if (::dwarf_getaranges(sections_->dwarf(), &ranges, &count) == 0 && ranges != nullptr)
    if (Dwarf_Arange* range = ::dwarf_getarange_addr(ranges, address))
      if (::dwarf_getarangeinfo(range, nullptr, nullptr, &offset) == 0 &&
          ::dwarf_offdie(sections_->dwarf(), offset, &unit) != nullptr)
        return unit;
  if (!is_indexed_) index_units();
  auto at = std::upper_bound(units_.begin(), units_.end(), address,
                             [](std::uint64_t a, const UnitRange& r) { return a < r.begin; });
  if (at == units_.begin() || (--at)->end <= address) return std::nullopt;
  if (::dwarf_offdie(sections_->dwarf(), at->unit, &unit) == nullptr) return std::nullopt;
  return unit;
}

/// libdw reads the lines of a unit as a whole, with a hundred bytes for each.
bool LineTable::may_read_lines(Dwarf_Die& unit) {
  Dwarf_Attribute found;
  Dwarf_Word offset = 0;
  if (::dwarf_attr(&unit, DW_AT_stmt_list, &found) == nullptr || ::dwarf_formudata(&found, &offset) != 0) return false;
  const auto known = std::lower_bound(programs_.begin(), programs_.end(), offset);
  if (known != programs_.end() && *known == offset) return true;
  const auto bytes = sections_->lines();
  if (offset >= bytes.size()) return false;
  base::ByteCursor cursor(bytes.subspan(offset));
  std::uint64_t size = cursor.u32();
  if (size == 0xffffffff) size = cursor.u64();
  if (!cursor.ok() || size > kMaxProgram || size > budget_.program_bytes) return false;
  budget_.program_bytes -= size;
  programs_.insert(known, offset);
  return true;
}

std::vector<SourcePlace> LineTable::at(std::uint64_t address) {
  const auto begin = Clock::now();
  std::vector<SourcePlace> places;
  if (budget_.time.count() <= 0) return places;
  if (auto unit = unit_at(address)) {
    Search search(address, begin + budget_.time);
    search.run(*unit);
    SourcePlace place;
    const bool has_lines = may_read_lines(*unit);
    Dwarf_Line* line = has_lines ? ::dwarf_getsrc_die(&*unit, address) : nullptr;
    if (int number = 0; line != nullptr && ::dwarf_lineno(line, &number) == 0 && number > 0) {
      place.line = static_cast<std::uint32_t>(number);
      place.file = text(::dwarf_linesrc(line, nullptr, nullptr));
    }
    Dwarf_Files* files = nullptr;
    std::size_t count = 0;
    if (has_lines && ::dwarf_getsrcfiles(&*unit, &files, &count) != 0) files = nullptr;
    for (auto f = search.functions.rbegin(); f != search.functions.rend(); ++f) {
      place.function = linkage_name(*f);
      if (::dwarf_tag(&*f) == DW_TAG_subprogram) {
        Dwarf_Addr entry = 0;
        place.entry = ::dwarf_entrypc(&*f, &entry) == 0 ? entry : 0;
      }
      // Damaged entries have no name; an inlined function without a name cannot be shown.
      const bool is_shown = !place.function.empty() || ::dwarf_tag(&*f) != DW_TAG_inlined_subroutine;
      if (is_shown) places.push_back(std::move(place));
      place = {};
      place.line = static_cast<std::uint32_t>(std::min<std::uint64_t>(number(*f, DW_AT_call_line), UINT32_MAX));
      const std::uint64_t file = number(*f, DW_AT_call_file);
      if (files != nullptr && file < count) place.file = text(::dwarf_filesrc(files, file, nullptr, nullptr));
      if (place.line == 0 || place.file.empty()) place.line = 0, place.file.clear();
    }
    if (places.empty() && place.line != 0) places.push_back(std::move(place));
  }
  budget_.time -= Clock::now() - begin;
  return places;
}

}  // namespace mixstack::symbols
