#include "output/formats/firefox.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "output/formats/firefox_thread.h"
#include "output/formats/gzip_stream.h"
#include "output/report/json_fields.h"

namespace mixstack::formats {
namespace {

using report::JsonObject;

struct Category {
  std::string_view name, color;
};
// The first is for entries that are no code; the others are in the order of CodeKind. Colours are names of the Firefox
// Profiler, which requires a grey category.
constexpr Category kCategories[] = {{"Other", "grey"},     {"Managed", "green"}, {"Native", "blue"},
                                    {"Runtime", "purple"}, {"Kernel", "orange"}, {"Stub", "yellow"},
                                    {"Unknown", "grey"}};
static_assert(std::size(kCategories) == 2 + static_cast<std::size_t>(kLastCodeKind));

void write_meta(report::Writer& out, const Recording& recording, const RecordingView& view) {
  const RecordingFacts& facts = recording.facts;
  JsonObject meta(out);
  meta.number("version", std::uint64_t{29});
  meta.number("preprocessedProfileVersion", std::uint64_t{48});
  meta.key("interval") << fmt::format("{:.6f}", view.period_ns == 0 ? 1.0 : static_cast<double>(view.period_ns) / 1e6);
  meta.key("startTime") << fmt::format("{:.3f}", static_cast<double>(facts.started_unix_ns) / 1e6);
  meta.number("processType", std::uint64_t{0});
  meta.number("stackwalk", std::uint64_t{1});
  meta.boolean("debug", false);
  meta.boolean("symbolicated", true);
  meta.text("product", recording.processes().empty() ? "mixstack" : shown_processes(recording));
  meta.text("importedFrom", shown_recorder(recording));
  meta.text("abi", facts.arch);
  meta.word("platform", "Linux");
  meta.key("sampleUnits") << R"({"time":"ms","eventDelay":"ms","threadCPUDelta":"ns"})";
  meta.boolean("usesOnlyOneStackType", true);
  meta.boolean("doesNotUseFrameImplementation", true);
  meta.boolean("sourceCodeIsNotOnSearchfox", true);
  meta.key("markerSchema") << "[]";
  meta.key("categories");
  report::json_array(out, kCategories, "", [&out](const Category& category) {
    JsonObject object(out);
    object.word("name", category.name);
    object.word("color", category.color);
    object.key("subcategories") << R"(["Other"])";
    object.close();
  });
  meta.close();
}

void write_libraries(report::Writer& out, const Recording& recording, const std::vector<std::uint32_t>& modules) {
  report::json_array(out, modules, "\n", [&](std::uint32_t number) {
    const RecordedModule& module = recording.modules()[number];
    JsonObject object(out);
    object.text("arch", recording.facts.arch);
    object.text("name", module.name);
    object.text("path", module.path.empty() ? module.name : module.path);
    object.text("debugName", module.name);
    object.text("debugPath", module.path.empty() ? module.name : module.path);
    object.text("breakpadId", breakpad_id(module.build_id));
    object.text_or_null("codeId", module.build_id);
    object.close();
  });
}

}  // namespace

std::string breakpad_id(std::string_view build_id) {
  constexpr std::size_t kGuid = 32;
  constexpr std::string_view kDigits = "0123456789abcdefABCDEF";
  if (build_id.find_first_not_of(kDigits) != std::string_view::npos) return std::string(kGuid + 1, '0');
  std::string id(build_id.substr(0, kGuid));
  id.resize(kGuid, '0');
  // A GUID begins with a number of four bytes and two of two bytes, written big-endian here: swap the build id's bytes.
  constexpr std::size_t kOrder[] = {6, 7, 4, 5, 2, 3, 0, 1, 10, 11, 8, 9, 14, 15, 12, 13};
  std::string turned = id;
  for (std::size_t i = 0; i < std::size(kOrder); i++) turned[i] = id[kOrder[i]];
  std::transform(turned.begin(), turned.end(), turned.begin(),
                 [](char c) { return c >= 'a' && c <= 'f' ? static_cast<char>(c - 'a' + 'A') : c; });
  return turned + '0';
}

void write_firefox(report::Writer& out, const Recording& recording, const ProfileOptions& options) {
  ProfileOptions merged = options;
  merged.by_thread = merged.by_process = false;
  const RecordingView view = view_of(recording, merged, ViewDetail::frames);
  std::map<std::uint32_t, std::vector<const ViewSample*>> by_thread;
  for (const ViewSample& sample : view.samples)
    by_thread[recording.contexts()[sample.context].thread].push_back(&sample);
  GzipStream gzip(out);
  report::Writer json([&gzip](std::string_view piece) { gzip.add(piece); });
  Numbered<std::uint32_t> libraries;
  JsonObject document(json);
  document.key("meta");
  write_meta(json, recording, view);
  document.key("pages") << "[]";
  document.key("threads");
  report::json_array(json, by_thread, "\n", [&](const auto& thread) {
    FirefoxThread(recording, view, thread.first, libraries).write(json, thread.second);
  });
  document.key("libs");
  write_libraries(json, recording, libraries.list());
  document.close();
  json.flush();
  gzip.finish();
}

}  // namespace mixstack::formats
