#include "engine/images/module_map.h"

#include <elf.h>

#include <algorithm>
#include <mutex>

#include "base/memory/buffer_memory.h"
#include "engine/images/file_bytes.h"
#include "engine/images/module_finder.h"

namespace mixstack::images {
namespace {

/// An image inside a larger file.
class PartOfFile final : public FileBytes {
 public:
  PartOfFile(std::shared_ptr<const FileBytes> whole, std::uint64_t offset)
      : whole_(std::move(whole)), offset_(std::min(offset, whole_->size())) {}
  [[nodiscard]] std::uint64_t size() const override { return whole_->size() - offset_; }
  [[nodiscard]] std::span<const std::byte> bytes() const override { return range(0, size()); }
  [[nodiscard]] std::span<const std::byte> range(std::uint64_t offset, std::uint64_t size) const override {
    return offset > this->size() ? std::span<const std::byte>{} : whole_->range(offset_ + offset, size);
  }

 private:
  std::shared_ptr<const FileBytes> whole_;
  std::uint64_t offset_;
};

constexpr std::uint64_t kHead = 16 << 10;  // more than probe_image reads

bool equal_bytes(std::span<const std::byte> a, std::span<const std::byte> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

}  // namespace

struct ModuleMap::Lazy {
  ImageHead head;
  std::once_flag image_once, build_id_once;
  Result<std::shared_ptr<const ElfImage>> image = fail(ErrorCode::internal);
  BuildId build_id;
};

ModuleMap ModuleMap::build(std::span<const Region> regions, const MemoryReader& memory, FileOpener opener,
                           std::shared_ptr<ImageCache> cache, FileTrust trust) {
  std::vector<Region> sorted(regions.begin(), regions.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Region& a, const Region& b) { return a.range.begin < b.range.begin; });
  ModuleMap map;
  map.memory_ = &memory;
  map.opener_ = std::move(opener);
  map.cache_ = std::move(cache);
  map.trust_ = trust;
  std::vector<std::pair<AddressRange, ModuleIndex>> ranges;
  for (auto& found : ModuleFinder(sorted, memory, map.opener_).find()) {
    const auto index = static_cast<ModuleIndex>(map.modules_.size());
    for (const auto& r : found.ranges) ranges.emplace_back(r, index);
    map.modules_.push_back(std::move(found.module));
    map.lazy_.push_back(std::make_shared<Lazy>());
    map.lazy_.back()->head = std::move(found.head);
  }
  std::sort(ranges.begin(), ranges.end(), [](const auto& a, const auto& b) { return a.first.begin < b.first.begin; });
  for (const auto& [range, index] : ranges) map.index_.append(range, index);
  for (const auto& r : sorted)
    if (r.executable) map.executable_.append(r.range, 0);
  return map;
}

Result<std::shared_ptr<const ElfImage>> ModuleMap::image(ModuleIndex index) const {
  if (index >= modules_.size()) return fail(ErrorCode::invalid_argument, index);
  if (modules_[index].kind != ModuleKind::elf) return fail(ErrorCode::unsupported, index);
  auto& lazy = *lazy_[index];
  std::call_once(lazy.image_once, [&] { lazy.image = open_image(index); });
  return lazy.image;
}

BuildId ModuleMap::build_id(ModuleIndex index) const {
  if (index >= modules_.size() || modules_[index].kind != ModuleKind::elf) return {};
  if (trust_ == FileTrust::is_the_mapped && modules_[index].has_file)
    if (const auto from_file = image(index)) return (*from_file)->build_id();
  auto& lazy = *lazy_[index];
  std::call_once(lazy.build_id_once, [&] { lazy.build_id = read_build_id(*memory_, lazy.head); });
  if (!lazy.build_id.empty()) return lazy.build_id;
  const auto from_image = image(index);
  return from_image ? (*from_image)->build_id() : BuildId{};
}

Result<std::shared_ptr<const ElfImage>> ModuleMap::open_image(ModuleIndex index) const {
  const auto& m = modules_[index];
  Result<std::shared_ptr<const ElfImage>> from_file = fail(ErrorCode::not_found);
  if (m.has_file) from_file = open_from_file(index);
  // Memory that contradicts the mapped file belongs to another library by now: do not use it for this one.
  const bool has_changed = !from_file && from_file.error().code == ErrorCode::mismatch;
  if (from_file || (has_changed && trust_ == FileTrust::is_the_mapped)) return from_file;
  auto from_memory = ElfImage::from_memory(*memory_, m.header.range.begin);
  return from_memory || !m.has_file ? from_memory : from_file;
}

/// The file must still be what is mapped: same headers, same build id.
Result<std::shared_ptr<const ElfImage>> ModuleMap::open_from_file(ModuleIndex index) const {
  const auto& m = modules_[index];
  auto& lazy = *lazy_[index];
  std::call_once(lazy.build_id_once, [&] { lazy.build_id = read_build_id(*memory_, lazy.head); });
  const ImageCache::Key key{m.header.device_major, m.header.device_minor, m.header.inode, m.file_offset, lazy.build_id};
  if (cache_ && !lazy.build_id.empty())
    if (auto known = cache_->find(key)) return known;
  if (!opener_) return fail(ErrorCode::not_found);
  auto file = opener_(m.header);
  if (!file) return fail(file.error());
  if (m.file_offset != 0) file = std::make_shared<const PartOfFile>(*file, m.file_offset);
  const auto& head = lazy.head.bytes;
  if (!head.empty() && !equal_bytes(head, (*file)->range(0, head.size()))) return open_in_spite_of_memory(index, *file);
  auto image = ElfImage::from_file(*file);
  if (!image) return image;
  if (!lazy.build_id.empty() && !((*image)->build_id() == lazy.build_id)) return open_in_spite_of_memory(index, *file);
  if (cache_ && !lazy.build_id.empty()) cache_->insert(key, *image);
  return image;
}

/// The header was read after the stop, when another library lay in this one's place. Besides the image, the load bias
/// was derived from it, so the load bias must agree with the file.
Result<std::shared_ptr<const ElfImage>> ModuleMap::open_in_spite_of_memory(
    ModuleIndex index, const std::shared_ptr<const FileBytes>& file) const {
  if (trust_ != FileTrust::is_the_mapped) return fail(ErrorCode::mismatch, index);
  memory::BufferMemory head;
  head.add(modules_[index].header.range.begin, file->range(0, std::min<std::uint64_t>(file->size(), kHead)));
  const auto probed = probe_image(head, modules_[index].header.range.begin);
  if (!probed || probed->load_bias != modules_[index].load_bias) return fail(ErrorCode::mismatch, index);
  return ElfImage::from_file(file);
}

}  // namespace mixstack::images
