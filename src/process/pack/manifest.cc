#include "process/pack/manifest.h"

#include <nlohmann/json.hpp>

#include "base/words/pack_fault.h"
#include "process/pack/names.h"

namespace mixstack::pack {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxSize = 8 << 20;  // an environment may have two megabytes, which escapes make longer
constexpr int kMaxDepth = 8;

/// Whether objects and arrays nest at most kMaxDepth deep; brackets in strings do not count.
[[nodiscard]] bool is_shallow(std::string_view json) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < json.size(); i++) {
    const char c = json[i];
    if (in_string) {
      if (c == '\\') i++;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxDepth) return false;
    } else if (c == ']' || c == '}') {
      depth--;
    }
  }
  return true;
}

}  // namespace

std::string manifest_json(const Manifest& m) {
  Json runtimes = Json::array();
  for (const ManifestRuntime& r : m.runtimes)
    runtimes.push_back({{"kind", r.kind}, {"version", r.version}, {"module", r.module_path}});
  Json json{{"format", "mixstack-pack"},
            {"format_version", kVersion},
            {"mixstack", m.tool},
            {"time", m.time},
            {"host", m.host},
            {"kernel", m.kernel},
            {"cpu", m.cpu},
            {"source", m.source},
            {"form", m.form},
            {"pid", m.pid},
            {"name", m.name},
            {"executable", m.executable},
            {"threads", m.threads},
            {"pause_ns", m.pause_ns},
            {"runtimes", std::move(runtimes)},
            {"left_out", m.left_out},
            {"left_out_codes", m.left_out_codes}};
  if (!m.command_line.empty()) json["command_line"] = m.command_line;
  if (!m.environment.empty()) json["environment"] = m.environment;
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<void> check_manifest(std::string_view text) {
  const auto bad = fail(words::error_of(words::PackFault::bad_manifest));
  if (text.size() > kMaxSize || !is_shallow(text)) return bad;
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return bad;
  const auto format = json.find("format"), version = json.find("format_version");
  if (format == json.end() || *format != "mixstack-pack" || version == json.end() || !version->is_number_unsigned())
    return bad;
  if (version->get<std::uint64_t>() > kVersion) return fail(words::error_of(words::PackFault::newer_version));
  return {};
}

}  // namespace mixstack::pack
