#include "process/live/resident_pages.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>

#include "base/system/proc_status.h"
#include "process/kernel/memory_map.h"

namespace mixstack::process {
namespace {

constexpr std::size_t kMostText = std::size_t{1} << 30;

// PAGEMAP_SCAN (include/uapi/linux/fs.h of Linux 6.7; older headers lack it).
constexpr std::uint64_t kIsPresent = 1 << 3, kIsZero = 1 << 5;
struct PageRegion {
  std::uint64_t begin = 0, end = 0, categories = 0;
};
struct ScanArgument {
  std::uint64_t size = 0, flags = 0, start = 0, end = 0, walk_end = 0, vec = 0, vec_len = 0, max_pages = 0,
                category_inverted = 0, category_mask = 0, category_anyof_mask = 0, return_mask = 0;
};
constexpr unsigned long kScan = _IOWR('f', 16, ScanArgument);
constexpr std::size_t kMostFound = 4096, kMostEntries = 8192;

// An entry of /proc/PID/pagemap (Documentation/admin-guide/mm/pagemap.rst of Linux).
constexpr std::uint64_t kIsThere = std::uint64_t{1} << 63, kIsFiles = std::uint64_t{1} << 61,
                        kIsExclusive = std::uint64_t{1} << 56;

template <class Wanted>
void add_where(std::span<const std::uint64_t> entries, Address begin, std::uint64_t page_bytes, Wanted wanted,
               std::vector<AddressRange>& found) {
  for (std::size_t i = 0; i < entries.size(); i++) {
    if ((entries[i] & kIsThere) == 0 || !wanted(entries[i])) continue;
    const Address at = begin + i * page_bytes;
    if (!found.empty() && found.back().end == at)
      found.back().end += page_bytes;
    else
      found.push_back({at, at + page_bytes});
  }
}

std::uint64_t bytes_of(const std::vector<AddressRange>& ranges) {
  std::uint64_t bytes = 0;
  for (const AddressRange& r : ranges) bytes += r.size();
  return bytes;
}

/// "Rss:                 124 kB" in bytes.
bool take_kilobytes(std::string_view line, std::string_view key, std::uint64_t& out) {
  if (!line.starts_with(key)) return false;
  line.remove_prefix(key.size());
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  std::uint64_t value = 0;
  const auto read = std::from_chars(line.data(), line.data() + line.size(), value);
  if (read.ec != std::errc{} || value > (std::uint64_t{1} << 50)) return false;
  out = value * 1024;
  return true;
}

/// The first line of a mapping begins with hexadecimal digits and a dash; all others with a word and a colon.
bool is_header(std::string_view line) {
  const std::size_t digits = line.find_first_not_of("0123456789abcdef");
  return digits != 0 && digits != std::string_view::npos && line[digits] == '-';
}

}  // namespace

std::vector<ResidentMapping> parse_resident_mappings(std::string_view text) {
  std::vector<ResidentMapping> all;
  bool is_of_last = false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (is_header(line)) {
      auto regions = parse_memory_map(std::string(line) + "\n");
      is_of_last = regions.size() == 1;
      if (is_of_last) all.push_back({std::move(regions.front())});
    } else if (is_of_last) {
      if (!take_kilobytes(line, "Rss:", all.back().resident)) (void)take_kilobytes(line, "Swap:", all.back().swapped);
    }
  }
  return all;
}

Result<std::vector<ResidentMapping>> resident_mappings(const ProcDir& proc) {
  const auto text = proc.read_memory_file("smaps", kMostText);
  if (!text) return fail(text.error());
  return parse_resident_mappings(*text);
}

void add_present(std::span<const std::uint64_t> entries, Address begin, std::uint64_t page_bytes,
                 std::vector<AddressRange>& found) {
  add_where(
      entries, begin, page_bytes, [](std::uint64_t) { return true; }, found);
}

void add_owned(std::span<const std::uint64_t> entries, Address begin, std::uint64_t page_bytes,
               std::vector<AddressRange>& found) {
  add_where(
      entries, begin, page_bytes, [](std::uint64_t entry) { return (entry & (kIsFiles | kIsExclusive)) != 0; }, found);
}

Result<ResidentPages> ResidentPages::open(const ProcDir& proc) {
  auto file = proc.open_memory_file("pagemap", O_RDONLY | O_CLOEXEC);
  if (!file) return fail(file.error());
  return ResidentPages(std::move(*file));
}

bool ResidentPages::next(AddressRange& range) {
  if (has_scan_) {
    if (scan(range)) return true;
    has_scan_ = false;
  }
  return read(range);
}

bool ResidentPages::scan(AddressRange& range) {
  std::array<PageRegion, kMostFound> found{};
  ScanArgument argument;
  argument.size = sizeof argument;
  argument.start = range.begin;
  argument.end = range.end;
  argument.vec = reinterpret_cast<std::uintptr_t>(found.data());
  argument.vec_len = found.size();
  argument.category_mask = kIsPresent;
  argument.return_mask = kIsPresent | kIsZero;
  const int n = ::ioctl(file_.get(), kScan, &argument);
  if (n < 0 || static_cast<std::size_t>(n) > found.size() || argument.walk_end <= range.begin) return false;
  for (std::size_t i = 0; i < static_cast<std::size_t>(n); i++)
    if ((found.at(i).categories & kIsZero) == 0) found_.push_back({found.at(i).begin, found.at(i).end});
  range.begin = std::min<std::uint64_t>(argument.walk_end, range.end);
  return true;
}

void ResidentPages::leave_zeros_out(std::uint64_t counted) {
  const std::uint64_t present = bytes_of(found_), others = present - bytes_of(owned_);
  if (present <= counted) return;
  if (others <= present - counted)
    found_.swap(owned_);
  else
    has_zeros_ = true;
}

bool ResidentPages::read(AddressRange& range) {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));  // the machine's, so the target's
  std::array<std::uint64_t, kMostEntries> entries{};
  const std::uint64_t pages = std::min<std::uint64_t>((range.size() + page - 1) / page, entries.size());
  const auto offset = static_cast<off_t>(range.begin / page * sizeof(std::uint64_t));
  const ssize_t got = ::pread(file_.get(), entries.data(), static_cast<std::size_t>(pages) * 8, offset);
  if (got <= 0) return false;
  const std::uint64_t n = static_cast<std::uint64_t>(got) / 8;
  if (n == 0) return false;
  const auto filled = std::span(entries).first(static_cast<std::size_t>(n));
  add_present(filled, range.begin, page, found_);
  add_owned(filled, range.begin, page, owned_);
  range.begin = std::min(range.begin + n * page, range.end);
  return true;
}

}  // namespace mixstack::process
