#include "output/formats/otlp_dictionary.h"

#include <algorithm>
#include <protozero/pbf_writer.hpp>

#include "output/report/escape.h"

namespace mixstack::formats {
namespace {

using Message = protozero::pbf_writer;

// Field numbers of ProfilesDictionary and its submessages.
constexpr std::uint32_t kMappings = 1, kLocations = 2, kFunctions = 3, kLinks = 4, kStrings = 5, kAttributes = 6,
                        kStacks = 7;
constexpr std::uint32_t kMappingStart = 1, kMappingLimit = 2, kMappingFile = 4, kMappingAttributes = 5;
constexpr std::uint32_t kLocationMapping = 1, kLocationAddress = 2, kLocationLines = 3, kLocationAttributes = 4;
constexpr std::uint32_t kLineFunction = 1, kLineLine = 2;
constexpr std::uint32_t kFunctionName = 1, kFunctionSystemName = 2, kFunctionFile = 3;
constexpr std::uint32_t kAttributeKey = 1, kAttributeValue = 2;
constexpr std::uint32_t kAnyText = 1, kAnyNumber = 3;
constexpr std::uint32_t kStackLocations = 1;
constexpr std::uint32_t kLinkTrace = 1, kLinkSpan = 2;

/// Value of profile.frame.type in OpenTelemetry's semantic conventions; empty: none.
std::string_view frame_type(CodeKind kind) {
  switch (kind) {
    case CodeKind::managed:
      return "dotnet";
    case CodeKind::native:
    case CodeKind::runtime:
      return "native";
    case CodeKind::kernel:
      return "kernel";
    case CodeKind::stub:
    case CodeKind::unknown:
      break;
  }
  return {};
}

void add_index(Message& message, std::uint32_t field, std::int32_t index) {
  if (index != 0) message.add_int32(field, index);
}

void add_indices(Message& message, std::uint32_t field, const std::vector<std::int32_t>& indices) {
  if (!indices.empty()) message.add_packed_int32(field, indices.begin(), indices.end());
}

}  // namespace

OtlpDictionary::OtlpDictionary(const Recording& recording, const RecordingView& view)
    : recording_(recording), view_(view) {}

std::int32_t OtlpDictionary::string(std::string_view text) {
  return strings_.number(report::escape_for_terminal(text));
}

std::int32_t OtlpDictionary::attribute(std::string_view key, std::string_view text) {
  std::string value, message;
  Message(value).add_string(kAnyText, report::escape_for_terminal(text));
  Message writer(message);
  writer.add_int32(kAttributeKey, string(key));
  writer.add_message(kAttributeValue, value);
  return attributes_.number(std::move(message));
}

std::int32_t OtlpDictionary::attribute(std::string_view key, std::int64_t number) {
  std::string value, message;
  Message(value).add_int64(kAnyNumber, number);
  Message writer(message);
  writer.add_int32(kAttributeKey, string(key));
  writer.add_message(kAttributeValue, value);
  return attributes_.number(std::move(message));
}

const RecordedFrame* OtlpDictionary::frame_of(std::uint32_t entry) const {
  const std::uint32_t frame = view_.entries[entry].frame;
  return frame == kNoIndex ? nullptr : &recording_.frames()[frame];
}

bool OtlpDictionary::is_inlined_into_next(std::uint32_t entry, std::uint32_t caller) const {
  const RecordedFrame *inner = frame_of(entry), *outer = frame_of(caller);
  return inner != nullptr && outer != nullptr && inner->inlining != Inlining::none && inner->address == outer->address;
}

std::int32_t OtlpDictionary::stack(std::uint32_t node) {
  const auto [known, is_new] = by_node_.try_emplace(node, 0);
  if (!is_new) return known->second;
  std::vector<std::int32_t> locations;
  std::vector<std::uint32_t> group;
  for (std::uint32_t at = node; at != 0; at = view_.nodes[at].parent) {
    group.push_back(view_.nodes[at].entry);
    const std::uint32_t caller = view_.nodes[at].parent;
    if (caller != 0 && is_inlined_into_next(group.back(), view_.nodes[caller].entry)) continue;
    locations.push_back(location(group));
    group.clear();
  }
  std::string message;
  Message writer(message);
  add_indices(writer, kStackLocations, locations);
  return known->second = stacks_.number(std::move(message));
}

std::int32_t OtlpDictionary::function(const ViewEntry& entry) {
  std::string message;
  Message function(message);
  function.add_int32(kFunctionName, string(entry.name));
  if (entry.function != kNoIndex) {
    const std::string& raw = recording_.functions()[entry.function].raw_name;
    if (!raw.empty() && raw != entry.name) function.add_int32(kFunctionSystemName, string(raw));
  }
  if (entry.frame != kNoIndex)
    if (const std::uint32_t file = recording_.frames()[entry.frame].file; file != kNoIndex)
      add_index(function, kFunctionFile, string(recording_.files()[file]));
  return functions_.number(std::move(message));
}

std::int32_t OtlpDictionary::mapping(const RecordedFrame& frame) {
  const std::uint32_t module = recording_.functions()[frame.function].module;
  if (module == kNoIndex) return 0;
  Mapping& mapping = mappings_[module];
  if (mapping.index == 0) mapping.index = static_cast<std::int32_t>(mappings_.size());
  mapping.begin = std::min(mapping.begin, frame.address);
  mapping.last = std::max(mapping.last, frame.address);
  return mapping.index;
}

std::int32_t OtlpDictionary::location(const std::vector<std::uint32_t>& entries) {
  const auto [known, is_new] = by_entries_.try_emplace(entries, 0);
  if (!is_new) return known->second;
  std::string message;
  Message location(message);
  // The outermost entry is the function that the code was compiled for; the others are inlined into it.
  if (const RecordedFrame* frame = frame_of(entries.back()); frame != nullptr) {
    add_index(location, kLocationMapping, mapping(*frame));
    if (frame->address != 0) location.add_uint64(kLocationAddress, frame->address);
  }
  for (const std::uint32_t entry : entries) {
    std::string text;
    Message line(text);
    line.add_int32(kLineFunction, function(view_.entries[entry]));
    if (const RecordedFrame* frame = frame_of(entry); frame != nullptr && frame->line != 0)
      line.add_int64(kLineLine, frame->line);
    location.add_message(kLocationLines, text);
  }
  if (const std::string_view type = frame_type(view_.entries[entries.back()].kind); !type.empty())
    add_indices(location, kLocationAttributes, {attribute("profile.frame.type", type)});
  return known->second = locations_.number(std::move(message));
}

std::string OtlpDictionary::encoded_mapping(std::uint32_t module, const Mapping& of) {
  const RecordedModule& m = recording_.modules()[module];
  std::string message;
  Message mapping(message);
  // Addresses are link-time ones, so images begin at 0. Others (the kernel) begin at the lowest page with a sample.
  constexpr std::uint64_t kPage = 4096;
  if (m.path.empty() && of.begin >= kPage) mapping.add_uint64(kMappingStart, of.begin / kPage * kPage);
  mapping.add_uint64(kMappingLimit, of.last > UINT64_MAX - kPage ? UINT64_MAX : (of.last / kPage + 1) * kPage);
  add_index(mapping, kMappingFile, string(m.path.empty() ? m.name : m.path));
  if (!m.build_id.empty())
    add_indices(mapping, kMappingAttributes, {attribute("process.executable.build_id.gnu", m.build_id)});
  return message;
}

std::string OtlpDictionary::take() {
  std::string dictionary;
  Message writer(dictionary);
  std::map<std::int32_t, std::uint32_t> by_index;
  for (const auto& [module, mapping] : mappings_) by_index.emplace(mapping.index, module);
  writer.add_message(kMappings, std::string());
  for (const auto& [index, module] : by_index)
    writer.add_message(kMappings, encoded_mapping(module, mappings_[module]));
  const auto add = [&writer](std::uint32_t field, const Table& table) {
    for (const std::string& message : table.messages()) writer.add_message(field, message);
  };
  add(kLocations, locations_);
  add(kFunctions, functions_);
  // profiles.proto defines the zero value of a link with these lengths.
  std::string link;
  Message zeros(link);
  zeros.add_bytes(kLinkTrace, std::string(16, '\0'));
  zeros.add_bytes(kLinkSpan, std::string(8, '\0'));
  writer.add_message(kLinks, link);
  add(kAttributes, attributes_);
  add(kStacks, stacks_);
  add(kStrings, strings_);
  return dictionary;
}

}  // namespace mixstack::formats
