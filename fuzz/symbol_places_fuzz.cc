// LINK: mixstack_session
// What a target chooses of where symbols are looked for: its names of images and PDBs, its ids, its lists of packages;
// and what a person writes: the symbol path. Nothing of it may lead out of the folders and servers that were named.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "engine/images/file_bytes.h"
#include "engine/symbol_files/debian_packages.h"
#include "engine/symbol_files/symbol_key.h"
#include "engine/symbol_files/symbol_path.h"

namespace {

using namespace mixstack;
using namespace mixstack::symbol_files;

void require(bool ok) {
  if (!ok) std::abort();
}

void check_path(const std::string& path) {
  require(path.front() != '/' && path.size() < 1024);
  require(("/" + path + "/").find("/../") == std::string::npos);
  require(std::none_of(path.begin(), path.end(),
                       [](char c) { return c <= ' ' || c > '~' || std::strchr("%?#\\:@;*\"'", c) != nullptr; }));
}

void check(const SymbolKey& key) {
  if (key.empty()) return;
  check_path(key.cache_name());
  require(key.cache_name().find('/') == std::string::npos);
  for (const std::string& path : key.paths_in_folder()) check_path(path);
  for (const std::string& path : {key.store_key(), key.debuginfod_path()})
    if (!path.empty()) check_path(path);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::string first = text.substr(0, text.find('\n')), rest = text.substr(std::min(first.size() + 1, size));
  for (const SymbolPlace& place : parse_symbol_path(first, rest).places) {
    require(!place.where.empty() && place.where.size() <= 1024);
    require(place.kind == SymbolPlace::Kind::folder || place.where.starts_with("http"));
  }
  images::BuildId id;
  id.size = static_cast<std::uint8_t>(std::min<std::size_t>(rest.size(), id.bytes.size()));
  std::memcpy(id.bytes.data(), rest.data(), id.size);
  std::array<std::byte, 20> guid{};
  std::memcpy(guid.data(), rest.data(), std::min(rest.size(), guid.size()));
  check(SymbolKey::debug_file(id, first, rest.substr(0, 40)));
  check(SymbolKey::executable(id, first));
  check(SymbolKey::pdb(guid, first));

  const images::PathOpener open = [&](const std::string& path) -> Result<std::shared_ptr<const FileBytes>> {
    require(path.starts_with("/var/lib/dpkg/") && path.find("/../") == std::string::npos);
    const auto bytes = std::as_bytes(std::span(text));
    return images::buffer_file_bytes({bytes.begin(), bytes.end()});
  };
  for (const auto& [path, package] : symbol_files::debian_packages_of({first, "/usr" + first, "/lib/x"}, open))
    require(!package.name.empty() && !package.version.empty());
  return 0;
}
