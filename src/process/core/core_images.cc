#include "process/core/core_images.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "engine/images/module_probe.h"
#include "process/core/image_proof.h"

namespace mixstack::process {
namespace {

/// The build id that the core itself holds of an image, or nothing.
[[nodiscard]] images::BuildId dumped_build_id(const DumpedMemory& dumped, std::span<const Region> mappings) {
  for (const Region& m : mappings) {
    if (m.file_offset != 0) continue;
    const auto head = images::probe_image(dumped, m.range.begin);
    if (!head || head->kind != images::ModuleKind::elf) continue;
    if (auto id = images::read_build_id(dumped, *head); !id.empty()) return id;
  }
  return {};
}

/// The permissions that an image's segments give to the pages of a mapping: flags of PT_LOAD, 0 for none.
[[nodiscard]] std::uint32_t flags_of(const images::ImageHead& head, const Region& mapping) {
  constexpr std::uint64_t kPage = 4096;
  std::uint32_t flags = 0;
  for (const images::Segment& s : head.segments) {
    const Address begin = (head.load_bias + s.vaddr) & ~(kPage - 1);
    if (s.type == PT_LOAD && begin < mapping.range.end &&
        mapping.range.begin < head.load_bias + s.vaddr + s.memory_size)
      flags |= s.flags;
  }
  return flags;
}

}  // namespace

struct CoreImages::MappedFile {
  std::string path;
  std::vector<Region> mappings;  // ascending
  std::once_flag once;
  images::BuildId build_id;
  Result<std::shared_ptr<const FileBytes>> file = fail(ErrorCode::not_found);
  std::vector<std::unique_ptr<ImagePlacement>> placements;
  Diagnosis diagnosis;
  std::atomic<bool> was_asked_for{false};
};

CoreImages::CoreImages(const DumpedMemory& dumped, Arch arch, FileFinder finder, std::vector<CoreRegion>& regions)
    : dumped_(dumped), arch_(arch), finder_(std::move(finder)) {
  for (const CoreRegion& r : regions) {
    if (r.region.inode == 0) continue;
    while (files_.size() < r.region.inode) files_.push_back(std::make_unique<MappedFile>());
    MappedFile& file = *files_[r.region.inode - 1];
    file.path = r.region.path;
    file.mappings.push_back(r.region);
  }
  learn_permissions(regions);
}

CoreImages::~CoreImages() = default;

void CoreImages::learn_permissions(std::vector<CoreRegion>& regions) const {
  if (std::all_of(regions.begin(), regions.end(), [](const CoreRegion& r) { return r.permissions_known; })) return;
  const MappedFile* last = nullptr;
  std::optional<images::ImageHead> head;  // the last that the core holds
  for (CoreRegion& r : regions) {
    if (r.region.inode == 0) continue;
    MappedFile& file = *files_[r.region.inode - 1];
    // Inside an image "MZ" may come again, see place_images.
    if (&file != last || !head || flags_of(*head, r.region) == 0) {
      auto probed = images::probe_image(dumped_, r.region.range.begin);
      head = probed ? std::optional(std::move(*probed)) : std::nullopt;
    }
    last = &file;
    if (r.permissions_known) continue;
    if (const std::uint32_t flags = head ? flags_of(*head, r.region) : 0; flags != 0) {
      r.region.executable = (flags & PF_X) != 0;
      r.region.writable = (flags & PF_W) != 0;
      r.permissions_known = true;
      continue;
    }
    std::call_once(file.once, [&] { resolve(file); });
    if (!file.file) continue;
    const ImagePlacement* image = placement_at(file.placements, r.region.range.begin);
    r.region.executable = image != nullptr && image->is_executable(r.region.range.begin);
    r.region.writable = image != nullptr && image->is_writable(r.region.range.begin);
    r.permissions_known = true;
  }
}

CoreImages::MappedFile& CoreImages::resolved(const Region& region) const {
  MappedFile& file = *files_[region.inode - 1];
  std::call_once(file.once, [&] { resolve(file); });
  file.was_asked_for.store(true, std::memory_order_relaxed);
  return file;
}

void CoreImages::resolve(MappedFile& file) const {
  // Shared memory: there never was a file.
  if (file.mappings.empty() || file.mappings.front().shared) return;
  file.build_id = dumped_build_id(dumped_, file.mappings);
  std::string refused, unproven;
  const auto accept = [&](const FileCandidate& candidate) {
    auto placements = place_images(candidate.file, file.mappings);
    const ProofResult result = prove_image(*candidate.file, placements, file.mappings, dumped_, arch_, file.build_id);
    if (result.proof == ImageProof::refuted)
      refused += fmt::format("{}{}: {}", refused.empty() ? "" : "; ", candidate.where, result.reason);
    if (result.proof == ImageProof::unproven) unproven = candidate.where;
    if (result.proof != ImageProof::proven) return false;
    file.file = candidate.file;
    file.placements = std::move(placements);
    return true;
  };
  if (finder_.find(file.path, file.build_id, accept)) return;
  const std::string id = file.build_id.empty() ? "" : fmt::format(" (build id {})", file.build_id.hex());
  if (!refused.empty()) {
    file.file = fail(ErrorCode::mismatch);
    file.diagnosis = {file.file.error(), file.path, fmt::format("not the file of the core, not used: {}", refused)};
  } else if (!unproven.empty()) {
    file.file = fail(ErrorCode::unsupported);
    file.diagnosis = {file.file.error(), file.path,
                      fmt::format("the core holds nothing to prove that {} is the file it was; not used", unproven)};
  } else {
    file.diagnosis = {file.file.error(), file.path,
                      fmt::format("the file is missing{}: put it below a folder given by --sysroot", id)};
  }
}

Result<std::shared_ptr<const FileBytes>> CoreImages::file(const Region& region) const {
  if (region.inode == 0 || region.inode > files_.size()) return fail(ErrorCode::not_found);
  return resolved(region).file;
}

Result<std::size_t> CoreImages::read(const Region& region, Address address, std::span<std::byte> out,
                                     PagesServed pages) const {
  if (region.inode == 0 || region.inode > files_.size()) return fail(ErrorCode::unreadable_memory, address);
  const MappedFile& file = resolved(region);
  if (!file.file) return fail(ErrorCode::unreadable_memory, address);
  const ImagePlacement* image = placement_at(file.placements, address);
  const bool may_have_changed = image == nullptr ? region.writable : image->is_changeable(address);
  if (may_have_changed && pages == PagesServed::unchangeable) return fail(ErrorCode::unreadable_memory, address);
  // Page by page: the next one may be one that has changed.
  constexpr std::uint64_t kPage = 4096;
  const std::uint64_t offset = region.file_offset + (address - region.range.begin);
  const std::uint64_t size = (*file.file)->size();
  const std::uint64_t wanted =
      std::min<std::uint64_t>({out.size(), kPage - address % kPage, offset < size ? size - offset : 0});
  const auto bytes = (*file.file)->range(offset, wanted);
  if (bytes.empty()) return fail(ErrorCode::unreadable_memory, address);
  std::memcpy(out.data(), bytes.data(), bytes.size());
  if (image != nullptr) image->relocate(address, out.first(bytes.size()));
  return bytes.size();
}

std::vector<Diagnosis> CoreImages::diagnoses() const {
  std::vector<Diagnosis> out;
  for (const std::string& root : finder_.missing_roots())
    out.push_back({{ErrorCode::not_found, 0, 0}, root, "the folder given by --sysroot cannot be opened"});
  for (const auto& file : files_)
    if (file->was_asked_for.load(std::memory_order_relaxed) && !file->file && !file->diagnosis.subject.empty())
      out.push_back(file->diagnosis);
  return out;
}

Result<std::size_t> CoreMemory::read_some(Address address, std::span<std::byte> out) const {
  std::size_t done = 0;
  while (done < out.size()) {
    const Address at = address + done;
    if (const auto n = dumped_.read_some(at, out.subspan(done)); n && *n != 0) {
      done += *n;
      continue;
    }
    const auto region =
        std::partition_point(regions_.begin(), regions_.end(), [at](const Region& r) { return r.range.end <= at; });
    if (region == regions_.end() || !region->range.contains(at)) break;
    const Address end = dumped_.next_dumped(at, region->range.end);
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(out.size() - done, end - at));
    const auto n = images_.read(*region, at, out.subspan(done, size), pages_);
    if (!n || *n == 0) break;
    done += *n;
  }
  if (done == 0 && !out.empty()) return fail(ErrorCode::unreadable_memory, address);
  return done;
}

}  // namespace mixstack::process
