#include "agent/in_process/composite_image.h"

#include <array>
#include <charconv>
#include <fstream>
#include <sstream>

namespace mixstack::agent {
namespace {

constexpr std::uint32_t kOwnerCompositeExecutable = 116;  // ReadyToRunSectionType
constexpr std::uint32_t kLongestName = 1024;

/// "begin-end rights offset device inode path"
struct Mapping {
  Address begin = 0;
  std::uint64_t offset = 0;
  std::string_view path;
};

[[nodiscard]] std::optional<std::uint64_t> hexadecimal(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

[[nodiscard]] std::optional<Mapping> mapping_of(std::string_view line) {
  std::array<std::string_view, 5> fields;
  for (auto& field : fields) {
    const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
    line.remove_prefix(begin);
    field = line.substr(0, line.find(' '));
    line.remove_prefix(field.size());
  }
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  const auto begin = hexadecimal(fields[0]), offset = hexadecimal(fields[2]);
  return begin && offset ? std::optional(Mapping{*begin, *offset, line}) : std::nullopt;
}

}  // namespace

std::optional<std::string> owner_composite(Address base, const MemoryReader& memory) {
  const auto section = CodeImage::section(base, kOwnerCompositeExecutable, memory);
  if (!section || section->size() > kLongestName) return std::nullopt;
  std::string name(static_cast<std::size_t>(section->size()), '\0');
  if (!memory.read_exact(section->begin, std::as_writable_bytes(std::span(name)))) return std::nullopt;
  name.resize(std::min(name.find('\0'), name.size()));
  const bool is_file_name = !name.empty() && name.find('/') == name.npos;
  return is_file_name ? std::optional(name) : std::nullopt;
}

std::vector<Address> mappings_of(std::string_view maps, std::string_view path) {
  std::vector<Address> found;
  while (!maps.empty()) {
    const std::string_view line = maps.substr(0, maps.find('\n'));
    maps.remove_prefix(std::min(line.size() + 1, maps.size()));
    const auto mapping = mapping_of(line);
    if (mapping && mapping->offset == 0 && mapping->path == path) found.push_back(mapping->begin);
  }
  return found;
}

std::optional<CodeImage> ModuleCode::of(Address base, const std::string& path, Arch arch, const MemoryReader& memory) {
  if (auto own = CodeImage::at(base, arch, memory)) return *own;
  const auto owner = owner_composite(base, memory);
  if (!owner) return std::nullopt;
  const std::string file = path.substr(0, path.rfind('/') + 1) + *owner;
  const std::lock_guard lock(mutex_);
  if (known_.contains(file)) return std::nullopt;
  std::ostringstream maps;
  maps << std::ifstream("/proc/self/maps").rdbuf();
  for (const Address at : mappings_of(maps.view(), file)) {
    const auto image = CodeImage::at(at, arch, memory);
    if (!image) continue;
    known_.insert(file);
    return *image;
  }
  return std::nullopt;
}

}  // namespace mixstack::agent
