#include "dotnet/names/pdb_finder.h"

#include <algorithm>
#include <cstring>

#include "engine/images/decompress.h"

namespace mixstack::dotnet::names {
namespace {

struct DebugEntry {  // IMAGE_DEBUG_DIRECTORY
  std::uint32_t characteristics, stamp;
  std::uint16_t major, minor;
  std::uint32_t type, size, rva, offset;
};
static_assert(sizeof(DebugEntry) == 28);

constexpr std::uint32_t kCodeView = 2, kEmbeddedPdb = 17;
constexpr std::uint16_t kPortable = 0x504d;  // minor version "PM" of the CodeView entry of a portable PDB
constexpr std::uint32_t kRsds = 0x53445352, kMpdb = 0x4244504d;
constexpr std::size_t kMostEntries = 64;
constexpr std::uint32_t kMostCodeView = 24 + 4096, kMostEmbedded = 64u << 20;
constexpr std::size_t kMostUnpacked = std::size_t{256} << 20;

Result<std::vector<std::byte>> bytes_at(const images::PeImage& image, std::uint32_t rva, std::uint32_t size) {
  std::vector<std::byte> bytes(size);
  if (const auto read = image.read(rva, bytes); !read) return fail(read.error());
  return bytes;
}

/// "RSDS", GUID, age, path.
void read_code_view(const images::PeImage& image, const DebugEntry& entry, PdbReference& out) {
  if (entry.size < 24 || entry.minor != kPortable) return;
  const auto bytes = bytes_at(image, entry.rva, std::min(entry.size, kMostCodeView));
  std::uint32_t magic = 0;
  if (!bytes) {
    out.error = bytes.error();
    return;
  }
  std::memcpy(&magic, bytes->data(), sizeof(magic));
  if (magic != kRsds) return;
  std::memcpy(out.id.data(), bytes->data() + 4, 16);
  std::memcpy(out.id.data() + 16, &entry.stamp, 4);
  const auto* text = reinterpret_cast<const char*>(bytes->data()) + 24;
  std::string path(text, strnlen(text, bytes->size() - 24));
  if (const auto slash = path.find_last_of("/\\"); slash != std::string::npos) path.erase(0, slash + 1);
  out.name = path == "." || path == ".." ? std::string() : path;
  out.has_id = true;
}

Result<std::shared_ptr<const PortablePdb>> open_embedded(const images::PeImage& image, const PdbReference& wanted) {
  constexpr std::uint32_t kHeader = 8;  // "MPDB", size when unpacked
  if (wanted.embedded_size <= kHeader || wanted.embedded_size > kMostEmbedded)
    return fail(ErrorCode::limit_exceeded, wanted.embedded_size);
  const auto packed = bytes_at(image, wanted.embedded_rva, wanted.embedded_size);
  if (!packed) return fail(packed.error());
  std::uint32_t magic = 0, size = 0;
  std::memcpy(&magic, packed->data(), 4);
  std::memcpy(&size, packed->data() + 4, 4);
  if (magic != kMpdb || size > kMostUnpacked) return fail(ErrorCode::malformed, magic);
  auto unpacked = images::decompress_deflate(std::span(*packed).subspan(kHeader), size);
  if (!unpacked) return fail(unpacked.error());
  auto kept = std::make_shared<const std::vector<std::byte>>(std::move(*unpacked));
  return PortablePdb::open(MetadataBytes::borrow(*kept, kept));
}

Result<std::shared_ptr<const PortablePdb>> open_file(const std::string& path, const FileOpener& opener) {
  auto file = opener(path);
  if (!file) return fail(file.error());
  return PortablePdb::open(MetadataBytes::borrow((*file)->bytes(), *file));
}

/// `/a/b/` of `/a/b/c`.
std::string folder_of(const std::string& path) { return path.substr(0, path.find_last_of('/') + 1); }

/// Beside the assembly, under the name that the compiler gave it or under the assembly's own; beside the program, under
/// the compiler's name.
std::vector<std::string> candidates(const PdbPlaces& places, const std::string& name) {
  std::vector<std::string> paths;
  const auto add = [&](std::string path) {
    if (std::ranges::find(paths, path) == paths.end()) paths.push_back(std::move(path));
  };
  const std::string folder = folder_of(places.image);
  if (!name.empty() && !folder.empty()) add(folder + name);
  if (!folder.empty()) {
    const auto dot = places.image.find_last_of('.');
    const bool has_suffix = dot != std::string::npos && dot > folder.size();
    add(places.image.substr(0, has_suffix ? dot : std::string::npos) + ".pdb");
  }
  const std::string beside_program = folder_of(places.program);
  if (!name.empty() && !beside_program.empty()) add(beside_program + name);
  return paths;
}

Result<std::shared_ptr<const PortablePdb>> fetch_pdb(const PdbFetcher& fetch, PdbLookup& lookup) {
  Result<std::shared_ptr<const PortablePdb>> pdb = fail(ErrorCode::not_found);
  const auto proof = [&](const std::shared_ptr<const FileBytes>& file) -> std::string {
    pdb = PortablePdb::open(MetadataBytes::borrow(file->bytes(), file));
    if (!pdb) return "it is no portable PDB";
    return (*pdb)->id() == lookup.wanted.id ? "" : "it is the PDB of another build";
  };
  const auto where = fetch(lookup.wanted.id, lookup.wanted.name, proof);
  if (!where || !pdb) return fail(lookup.error);
  lookup.found = *where;
  lookup.error = {};
  return pdb;
}

}  // namespace

PdbReference pdb_reference(const images::PeImage& image) {
  PdbReference reference;
  const images::PeDirectory directory = image.directory(images::PeDirectoryId::debug);
  const std::size_t count = std::min<std::size_t>(directory.size / sizeof(DebugEntry), kMostEntries);
  std::vector<DebugEntry> entries(count);
  if (directory.empty()) return reference;
  if (const auto read = image.read(directory.rva, std::as_writable_bytes(std::span(entries))); !read) {
    reference.error = read.error();
    return reference;
  }
  for (const DebugEntry& entry : entries) {
    if (entry.type == kCodeView && !reference.has_id) read_code_view(image, entry, reference);
    if (entry.type != kEmbeddedPdb || reference.embedded_size != 0) continue;
    reference.embedded_rva = entry.rva;
    reference.embedded_size = entry.size;
  }
  return reference;
}

Result<std::shared_ptr<const PortablePdb>> find_pdb(const images::PeImage& image, const PdbPlaces& places,
                                                    const FileOpener& opener, const PdbFetcher& fetch,
                                                    PdbLookup& lookup) {
  const PdbReference& wanted = lookup.wanted = pdb_reference(image);
  lookup.error = {ErrorCode::not_found, 0, 0};
  if (!wanted.has_id && wanted.error.code != ErrorCode::none) lookup.error = wanted.error;
  if (!wanted.has_id) return fail(lookup.error);
  const auto fits = [&](Result<std::shared_ptr<const PortablePdb>>& pdb) {
    if (pdb && (*pdb)->id() != wanted.id) pdb = fail(ErrorCode::mismatch);
    if (!pdb && pdb.error().code != ErrorCode::not_found) lookup.error = pdb.error();
    if (pdb) lookup.error = {};
    return pdb.has_value();
  };
  if (wanted.embedded_size != 0)
    if (auto pdb = open_embedded(image, wanted); fits(pdb)) return pdb;
  if (opener) {
    for (const std::string& place : candidates(places, wanted.name)) {
      auto pdb = open_file(place, opener);
      if (fits(pdb)) {
        lookup.found = place;
        return pdb;
      }
      if (pdb.error().code == ErrorCode::mismatch) lookup.refused = place;
    }
  }
  return fetch ? fetch_pdb(fetch, lookup) : fail(lookup.error);
}

}  // namespace mixstack::dotnet::names
