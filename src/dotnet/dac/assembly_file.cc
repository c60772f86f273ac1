#include "dotnet/dac/assembly_file.h"

#include <algorithm>

namespace mixstack::dotnet::dac {

AssemblyFile AssemblyFile::open(const Opener& opener, const std::string& path) {
  AssemblyFile assembly;
  assembly.path_ = path;
  if (!path.starts_with('/')) return assembly;
  auto file = opener(path);
  if (!file) return assembly;
  auto image = images::PeImage::from_bytes((*file)->bytes(), images::PeLayout::flat);
  if (!image) return assembly;
  assembly.file_ = std::move(*file);
  assembly.image_ = std::move(*image);
  return assembly;
}

std::span<const std::byte> AssemblyFile::metadata(const MetadataRequest& request) const {
  if (!image_) return {};
  if (image_->timestamp() != request.timestamp || image_->size_of_image() != request.image_size) return {};
  const auto header = image_->cli_header();
  if (!header) return {};
  const images::PeDirectory metadata = header->metadata;
  if ((request.rva != 0 && request.rva != metadata.rva) || request.offset >= metadata.size) return {};
  const std::uint32_t size = std::min(request.size, metadata.size - request.offset);
  return image_->bytes(metadata.rva + request.offset, size);
}

}  // namespace mixstack::dotnet::dac
