#include "dotnet/contracts/known/known_runtimes.h"

#include <array>
#include <charconv>

#include "dotnet/contracts/known/known_runtimes_data.h"
#include "engine/images/decompress.h"

namespace mixstack::dotnet {
namespace {

constexpr std::size_t kMostText = 4u << 20;

/// Splits at every `separator`; the rest stays behind.
std::string_view take(std::string_view& rest, char separator) {
  const auto end = rest.find(separator);
  const std::string_view word = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return word;
}

std::optional<std::uint64_t> number(std::string_view word, int base) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value, base);
  if (word.empty() || error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

std::vector<std::uint64_t> pointers_in(std::string_view list) {
  std::vector<std::uint64_t> found;
  while (!list.empty() && found.size() < Descriptor::kMaxPointers)
    found.push_back(number(take(list, ','), 16).value_or(0));
  return found;
}

std::string_view line_at(std::string_view lines, std::uint64_t index) {
  while (index-- != 0 && !lines.empty()) (void)take(lines, '\n');
  return take(lines, '\n');
}

}  // namespace

std::optional<Descriptor> KnownRelease::descriptor(Address load_bias) const {
  if (json.empty()) return std::nullopt;
  std::vector<std::uint64_t> table = pointers;
  for (auto& p : table) p += p == 0 ? 0 : load_bias;
  auto parsed = Descriptor::parse(std::as_bytes(std::span(json)), table);
  if (!parsed) return std::nullopt;
  return std::move(*parsed);
}

std::optional<KnownRelease> find_release(std::string_view text, std::string_view build_id) {
  const auto end_of_json = text.find("\n\n");
  if (end_of_json == std::string_view::npos || build_id.empty()) return std::nullopt;
  const std::string_view jsons = text.substr(0, end_of_json);
  std::string_view releases = text.substr(end_of_json + 2);
  while (!releases.empty()) {
    std::string_view line = take(releases, '\n');
    if (take(line, ' ') != build_id) continue;
    KnownRelease r;
    for (std::string* part : {&r.rid, &r.version, &r.file_version, &r.commit}) *part = take(line, ' ');
    r.dac_table = number(take(line, ' '), 16).value_or(0);
    if (const auto index = number(take(line, ' '), 10)) {
      r.json = line_at(jsons, *index);
      r.pointers = pointers_in(take(line, ' '));
    }
    return r;
  }
  return std::nullopt;
}

std::optional<KnownRelease> known_release(const images::BuildId& build_id) {
  if (build_id.empty()) return std::nullopt;
  const auto text = images::decompress_zlib(std::as_bytes(packed_known_runtimes()), kMostText);
  if (!text) return std::nullopt;
  return find_release({reinterpret_cast<const char*>(text->data()), text->size()}, build_id.hex());
}

std::string package_of(std::string_view rid, std::string_view version) {
  return "microsoft.netcore.app.runtime." + std::string(rid) + " " + std::string(version);
}

}  // namespace mixstack::dotnet
