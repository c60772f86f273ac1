#include "output/formats/pprof_tables.h"

#include <algorithm>
#include <protozero/pbf_writer.hpp>

namespace mixstack::formats {
namespace {

// Field numbers of profile.proto.
constexpr std::uint32_t kId = 1;
constexpr std::uint32_t kMappingStart = 2, kMappingLimit = 3, kMappingFile = 5, kMappingBuildId = 6,
                        kMappingHasFunctions = 7, kMappingHasFiles = 8, kMappingHasLines = 9, kMappingHasInlines = 10;
constexpr std::uint32_t kLocationMapping = 2, kLocationAddress = 3, kLocationLine = 4;
constexpr std::uint32_t kLineFunction = 1, kLineLine = 2;
constexpr std::uint32_t kFunctionName = 2, kFunctionSystemName = 3, kFunctionFile = 4;

}  // namespace

PprofTables::PprofTables(const Recording& recording, const RecordingView& view) : recording_(recording), view_(view) {}

std::int64_t PprofTables::string(std::string_view text) {
  const auto [at, is_new] = string_numbers_.try_emplace(std::string(text), static_cast<std::int64_t>(strings_.size()));
  if (is_new) strings_.emplace_back(text);
  return at->second;
}

const RecordedFrame* PprofTables::frame_of(std::uint32_t entry) const {
  const std::uint32_t frame = view_.entries[entry].frame;
  return frame == kNoIndex ? nullptr : &recording_.frames()[frame];
}

bool PprofTables::is_inlined_into_next(std::uint32_t entry, std::uint32_t caller) const {
  const RecordedFrame *inner = frame_of(entry), *outer = frame_of(caller);
  return inner != nullptr && outer != nullptr && inner->inlining != Inlining::none && inner->address == outer->address;
}

void PprofTables::locations_of(std::uint32_t node, std::vector<std::uint64_t>& locations) {
  std::vector<std::uint32_t> group;
  for (; node != 0; node = view_.nodes[node].parent) {
    group.push_back(view_.nodes[node].entry);
    const std::uint32_t caller = view_.nodes[node].parent;
    if (caller != 0 && is_inlined_into_next(group.back(), view_.nodes[caller].entry)) continue;
    locations.push_back(location_of(group));
    group.clear();
  }
}

std::uint64_t PprofTables::function_of(const ViewEntry& entry) {
  const auto next = static_cast<std::uint64_t>(functions_.size()) + 1;
  std::uint64_t number = 0;
  if (entry.function == kNoIndex) {
    number = made_up_.try_emplace(entry.name, next).first->second;
  } else {
    number = function_numbers_.try_emplace(entry.function, next).first->second;
  }
  if (number != next) return number;
  std::string message;
  protozero::pbf_writer function(message);
  function.add_uint64(kId, number);
  function.add_int64(kFunctionName, string(entry.name));
  if (entry.function != kNoIndex) {
    const std::string& raw = recording_.functions()[entry.function].raw_name;
    function.add_int64(kFunctionSystemName, string(raw.empty() ? entry.name : raw));
  }
  if (entry.frame != kNoIndex)
    if (const std::uint32_t file = recording_.frames()[entry.frame].file; file != kNoIndex)
      function.add_int64(kFunctionFile, string(recording_.files()[file]));
  functions_.push_back(std::move(message));
  return number;
}

std::uint64_t PprofTables::location_of(const std::vector<std::uint32_t>& entries) {
  const auto next = static_cast<std::uint64_t>(locations_.size()) + 1;
  const auto [at, is_new] = locations_.try_emplace(entries, next);
  if (!is_new) return at->second;
  std::string message;
  protozero::pbf_writer location(message);
  location.add_uint64(kId, next);
  // The outermost entry is the function that the code was compiled for; the others are inlined into it.
  if (const RecordedFrame* frame = frame_of(entries.back()); frame != nullptr) {
    const std::uint32_t module = recording_.functions()[frame->function].module;
    if (module != kNoIndex) {
      Mapping& mapping = mappings_[module];
      if (mapping.id == 0) mapping.id = mappings_.size();
      mapping.begin = std::min(mapping.begin, frame->address);
      mapping.last = std::max(mapping.last, frame->address);
      mapping.has_lines |= frame->line != 0;
      mapping.has_files |= frame->file != kNoIndex;
      mapping.has_inlines |= entries.size() > 1;
      location.add_uint64(kLocationMapping, mapping.id);
    }
    location.add_uint64(kLocationAddress, frame->address);
  }
  for (const std::uint32_t entry : entries) {
    const std::uint64_t function = function_of(view_.entries[entry]);
    std::string text;
    protozero::pbf_writer line(text);
    line.add_uint64(kLineFunction, function);
    if (const RecordedFrame* frame = frame_of(entry); frame != nullptr) line.add_int64(kLineLine, frame->line);
    location.add_message(kLocationLine, text);
  }
  encoded_locations_.push_back(std::move(message));
  return next;
}

std::string PprofTables::encoded_mapping(std::uint32_t module, const Mapping& of) {
  const RecordedModule& m = recording_.modules()[module];
  std::string message;
  protozero::pbf_writer mapping(message);
  mapping.add_uint64(kId, of.id);
  // Addresses are link-time ones, so images begin at 0. Others (the kernel) begin at the lowest page with a sample.
  constexpr std::uint64_t kPage = 4096;
  if (m.path.empty()) mapping.add_uint64(kMappingStart, of.begin / kPage * kPage);
  mapping.add_uint64(kMappingLimit, of.last > UINT64_MAX - kPage ? UINT64_MAX : (of.last / kPage + 1) * kPage);
  mapping.add_int64(kMappingFile, string(m.path.empty() ? m.name : m.path));
  if (!m.build_id.empty()) mapping.add_int64(kMappingBuildId, string(m.build_id));
  mapping.add_bool(kMappingHasFunctions, true);
  if (of.has_files) mapping.add_bool(kMappingHasFiles, true);
  if (of.has_lines) mapping.add_bool(kMappingHasLines, true);
  if (of.has_inlines) mapping.add_bool(kMappingHasInlines, true);
  return message;
}

namespace {

/// "app" for "/srv/app.dll".
std::string_view stem(std::string_view path) {
  path = path.substr(path.rfind('/') + 1);
  return path.ends_with(".dll") ? path.substr(0, path.size() - 4) : path;
}

}  // namespace

/// The program's own module, found by the first two words of the command line; its assembly rather than its host.
std::uint32_t PprofTables::main_module() const {
  if (recording_.processes().empty()) return kNoIndex;
  const std::string_view command = recording_.processes().front().command;
  const std::size_t first_end = std::min(command.find(' '), command.size());
  const std::string_view first = command.substr(0, first_end), rest = command.substr(first_end);
  const std::string_view second = rest.empty() ? rest : rest.substr(1, rest.find(' ', 1) - 1);
  std::uint32_t found = kNoIndex;
  for (const auto& [module, mapping] : mappings_) {
    const RecordedModule& m = recording_.modules()[module];
    const std::string_view path = m.path.empty() ? m.name : m.path;
    if (stem(path) == stem(first) || (second.ends_with(".dll") && stem(path) == stem(second))) {
      if (found == kNoIndex || path.ends_with(".dll")) found = module;
    }
  }
  return found;
}

/// The program's mapping comes first, because consumers take the first one for it.
std::vector<std::string> PprofTables::take_messages() {
  std::vector<std::string> messages;
  std::map<std::uint64_t, std::uint32_t> by_id;
  for (const auto& [module, mapping] : mappings_) by_id.emplace(mapping.id, module);
  const auto add = [&messages](std::uint32_t field, const std::string& content) {
    protozero::pbf_writer(messages.emplace_back()).add_message(field, content);
  };
  const std::uint32_t first = main_module();
  if (first != kNoIndex) add(ProfileField::kMapping, encoded_mapping(first, mappings_[first]));
  for (const auto& [id, module] : by_id)
    if (module != first) add(ProfileField::kMapping, encoded_mapping(module, mappings_[module]));
  for (const std::string& location : encoded_locations_) add(ProfileField::kLocation, location);
  for (const std::string& function : functions_) add(ProfileField::kFunction, function);
  return messages;
}

}  // namespace mixstack::formats
