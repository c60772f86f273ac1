#include "engine/symbol_files/symbol_key.h"

#include <algorithm>

namespace mixstack::symbol_files {
namespace {

constexpr std::size_t kStoreIdDigits = 40;  // shorter build ids are padded with zeros, SSQP_Key_Conventions.md
constexpr std::size_t kGuidDigits = 32;
constexpr std::string_view kPortable = "ffffffff";  // where other PDBs have their age

std::string last_part(std::string_view path) {
  const auto slash = path.find_last_of("/\\");
  const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  return is_harmless(name) ? std::string(name) : std::string();
}

std::string changed(std::string text, char from, char to, int by) {
  for (char& c : text)
    if (c >= from && c <= to) c = static_cast<char>(c + by);
  return text;
}
std::string lower(std::string text) { return changed(std::move(text), 'A', 'Z', 'a' - 'A'); }
std::string upper(std::string text) { return changed(std::move(text), 'a', 'z', 'A' - 'a'); }

void add_digits(std::string& text, std::byte byte) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  text += kDigits[std::to_integer<unsigned>(byte) >> 4];
  text += kDigits[std::to_integer<unsigned>(byte) & 15];
}

}  // namespace

bool is_harmless(std::string_view name) {
  constexpr std::size_t kLongest = 128;
  if (name.empty() || name.size() > kLongest || name.front() == '.' || name.front() == '-') return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '+' || c == '-';
  });
}

std::string guid_text(const std::array<std::byte, 20>& id, bool plain) {
  // The first three of its numbers are little-endian (ECMA-335 II.24.2.5, RFC 4122 for the text).
  constexpr std::array<std::size_t, 16> kOrder{3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
  std::string text;
  for (std::size_t i = 0; i < kOrder.size(); i++) {
    if (!plain && (i == 4 || i == 6 || i == 8 || i == 10)) text += '-';
    add_digits(text, id[kOrder[i]]);
  }
  return text;
}

SymbolKey SymbolKey::debug_file(const images::BuildId& build_id, std::string_view image_path, std::string_view link) {
  SymbolKey key{FileKind::debug, build_id.hex(), last_part(image_path), {}};
  if (is_harmless(link)) key.others.emplace_back(link);
  if (key.name.empty()) return key;
  for (const char* suffix : {".debug", ".dbg", ""})
    if (std::string name = key.name + suffix; name != link) key.others.push_back(std::move(name));
  return key;
}

SymbolKey SymbolKey::executable(const images::BuildId& build_id, std::string_view image_path) {
  SymbolKey key{FileKind::executable, build_id.hex(), last_part(image_path), {}};
  if (!key.name.empty()) key.others.push_back(key.name);
  return key;
}

SymbolKey SymbolKey::pdb(const std::array<std::byte, 20>& id, std::string_view name) {
  SymbolKey key{FileKind::pdb, guid_text(id, true), last_part(name), {}};
  for (std::size_t i = 16; i < id.size(); i++) add_digits(key.id, id[i]);
  if (!key.name.empty()) key.others.push_back(key.name);
  return key;
}

std::string SymbolKey::store_key() const {
  std::string digits = id;
  if (digits.size() < kStoreIdDigits) digits.resize(kStoreIdDigits, '0');
  if (kind == FileKind::debug) return "_.debug/elf-buildid-sym-" + digits + "/_.debug";
  if (name.empty()) return {};
  const std::string file = lower(name);
  if (kind == FileKind::executable) return file + "/elf-buildid-" + digits + "/" + file;
  return file + "/" + id.substr(0, kGuidDigits) + std::string(kPortable) + "/" + file;
}

std::string SymbolKey::debuginfod_path() const {
  if (kind == FileKind::pdb) return {};
  return "buildid/" + id + (kind == FileKind::debug ? "/debuginfo" : "/executable");
}

std::string SymbolKey::cache_name() const {
  return id + (kind == FileKind::debug ? ".debug" : kind == FileKind::pdb ? ".pdb" : ".elf");
}

std::vector<std::string> SymbolKey::paths_in_folder() const {
  std::vector<std::string> paths;
  if (kind != FileKind::pdb) {
    const std::string by_id = ".build-id/" + id.substr(0, 2) + "/" + id.substr(2);
    paths.push_back(kind == FileKind::debug ? by_id + ".debug" : by_id);
    paths.push_back(id + (kind == FileKind::debug ? "/debuginfo" : "/executable"));
  }
  if (const std::string store = store_key(); !store.empty()) paths.push_back(store);
  if (kind == FileKind::pdb && !name.empty()) {
    const std::string guid = id.substr(0, kGuidDigits), age = upper(std::string(kPortable));
    const std::string file = lower(name);
    paths.push_back(std::string(file).append("/").append(guid).append(age).append("/").append(file));
    for (const std::string& digits : {guid + std::string(kPortable), upper(guid) + age})
      paths.push_back(std::string(name).append("/").append(digits).append("/").append(name));
  }
  paths.insert(paths.end(), others.begin(), others.end());
  return paths;
}

}  // namespace mixstack::symbol_files
