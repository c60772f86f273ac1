#include "process/core/core_regions.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

namespace mixstack::process {
namespace {

constexpr std::string_view kDeleted = " (deleted)";

/// Mappings ascending; one that begins inside another is dropped.
std::vector<CoreMapping> in_order(std::vector<CoreMapping> mappings) {
  std::stable_sort(mappings.begin(), mappings.end(),
                   [](const CoreMapping& a, const CoreMapping& b) { return a.range.begin < b.range.begin; });
  Address end = 0;
  std::erase_if(mappings, [&end](CoreMapping& m) {
    if (m.range.begin < end) return true;
    end = m.range.end;
    return false;
  });
  return mappings;
}

class RegionMaker {
 public:
  RegionMaker(const std::vector<CoreSegment>& segments, Address vdso) : segments_(segments), vdso_(vdso) {}

  [[nodiscard]] std::vector<CoreRegion> make(const std::vector<CoreMapping>& mappings) {
    for (const CoreMapping& m : mappings) {
      add_anonymous_until(m.range.begin);
      add_file(m);
    }
    add_anonymous_until(~Address{0});
    return std::move(out_);
  }

 private:
  /// Adds memory without a file: the segments from `position_` on and below `end`.
  void add_anonymous_until(Address end) {
    while (next_ < segments_.size() && segments_[next_].range.begin < end) {
      const CoreSegment& s = segments_[next_];
      CoreRegion r;
      r.region.range = {std::max(s.range.begin, position_), std::min(s.range.end, end)};
      r.region.readable = s.readable;
      r.region.writable = s.writable;
      r.region.executable = s.executable;
      if (vdso_ != 0 && r.region.range.contains(vdso_)) r.region.path = "[vdso]";
      if (!r.region.range.empty()) out_.push_back(std::move(r));
      if (s.range.end > end) break;  // the rest lies behind the file's mapping
      next_++;
    }
    position_ = std::max(position_, end == ~Address{0} ? position_ : end);
  }

  void add_file(const CoreMapping& m) {
    CoreRegion r;
    r.region.range = m.range;
    r.region.file_offset = m.file_offset;
    r.region.path = m.path;
    if (r.region.path.ends_with(kDeleted)) {
      r.region.path.resize(r.region.path.size() - kDeleted.size());
      r.region.deleted = true;
    }
    r.region.inode = inodes_.try_emplace(m.path, inodes_.size() + 1).first->second;
    // Code generators map an unnamed file twice, writable and executable; loaders map images privately.
    r.region.shared = r.region.path.starts_with("/memfd:") || r.region.path.starts_with("/dev/");
    r.permissions_known = false;
    while (next_ < segments_.size() && segments_[next_].range.end <= m.range.begin) next_++;
    bool is_dumped = false;
    for (std::size_t i = next_; i < segments_.size() && segments_[i].range.begin < m.range.end; i++) {
      is_dumped = true;
      // createdump joins mappings and splits them at pages that it looked at: such a segment's flags are no mapping's.
      r.permissions_known = segments_[i].range.begin == m.range.begin && segments_[i].range.end == m.range.end;
      r.region.readable |= segments_[i].readable;
      r.region.writable |= segments_[i].writable;
      r.region.executable |= segments_[i].executable;
      if (segments_[i].range.end <= m.range.end) next_ = i + 1;
    }
    if (!is_dumped) r.region.readable = r.region.executable = true;
    position_ = m.range.end;
    out_.push_back(std::move(r));
  }

  const std::vector<CoreSegment>& segments_;
  Address vdso_;
  Address position_ = 0;
  std::size_t next_ = 0;
  std::unordered_map<std::string, std::uint64_t> inodes_;
  std::vector<CoreRegion> out_;
};

}  // namespace

std::vector<CoreRegion> core_regions(const std::vector<CoreSegment>& segments, const std::vector<CoreMapping>& mappings,
                                     Address vdso) {
  return RegionMaker(segments, vdso).make(in_order(mappings));
}

std::vector<CoreRegion> core_regions(std::vector<Region> all_mappings) {
  std::stable_sort(all_mappings.begin(), all_mappings.end(),
                   [](const Region& a, const Region& b) { return a.range.begin < b.range.begin; });
  std::unordered_map<std::string, std::uint64_t> inodes;
  std::vector<CoreRegion> out;
  Address end = 0;
  for (Region& r : all_mappings) {
    if (r.range.begin < end) continue;
    end = r.range.end;
    r.inode = r.path.starts_with('/') ? inodes.try_emplace(r.path, inodes.size() + 1).first->second : 0;
    out.push_back({std::move(r), true});
  }
  return out;
}

}  // namespace mixstack::process
