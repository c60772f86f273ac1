#include "output/formats/firefox_thread.h"

#include <fmt/format.h>

#include <algorithm>

namespace mixstack::formats {
namespace {

using report::JsonObject;

// Writes one column of a table. Names are those of src/types/profile.js of the Firefox Profiler.
template <class Range, class Write>
void column(JsonObject& table, report::Writer& out, std::string_view name, const Range& range, Write write) {
  table.key(name);
  report::json_array(out, range, "", [&](const auto& element) { write(out, element); });
}

template <class Range>
void constant(JsonObject& table, report::Writer& out, std::string_view name, const Range& range,
              std::string_view value) {
  column(table, out, name, range, [value](report::Writer& o, const auto&) { o << value; });
}

void number(report::Writer& out, std::uint64_t value) { out.decimal(value); }

std::string milliseconds(std::uint64_t ns) { return fmt::format("{}.{:06}", ns / 1'000'000, ns % 1'000'000); }

constexpr std::uint64_t kMostExact = std::uint64_t{1} << 53;  // JavaScript's numbers are exact below this

}  // namespace

std::uint32_t firefox_category(const ViewEntry& entry) {
  return entry.function == kNoIndex ? 0 : 1 + static_cast<std::uint32_t>(entry.kind);
}

const RecordedFrame* FirefoxThread::frame_of(std::uint32_t entry) const {
  const std::uint32_t frame = view_.entries[entry].frame;
  return frame == kNoIndex ? nullptr : &recording_.frames()[frame];
}

std::uint32_t FirefoxThread::add_stack(std::uint32_t node, std::int64_t prefix, std::uint32_t prefix_depth) {
  const std::uint32_t entry = view_.nodes[node].entry;
  const RecordedFrame* frame = frame_of(entry);
  const bool is_inlined = prefix >= 0 && frame != nullptr && frame->inlining != Inlining::none;
  const std::uint32_t depth = is_inlined ? prefix_depth + 1 : 0;
  const auto next = static_cast<std::uint32_t>(stacks_.size());
  stacks_.push_back({prefix, frames_({entry, depth}), depth, entry});
  stack_numbers_.emplace(node, next);
  return next;
}

std::uint32_t FirefoxThread::stack_of(std::uint32_t node) {
  std::vector<std::uint32_t> way;
  std::int64_t prefix = -1;
  for (; node != 0; node = view_.nodes[node].parent) {
    if (const auto known = stack_numbers_.find(node); known != stack_numbers_.end()) {
      prefix = known->second;
      break;
    }
    way.push_back(node);
  }
  for (; !way.empty(); way.pop_back())
    prefix = add_stack(way.back(), prefix, prefix < 0 ? 0 : stacks_[static_cast<std::size_t>(prefix)].inline_depth);
  return static_cast<std::uint32_t>(prefix);
}

void FirefoxThread::samples(JsonObject& object, const std::vector<const ViewSample*>& samples) {
  report::Writer& out = object.key("samples");
  JsonObject table(out);
  table.word("weightType", view_.is_of_bytes() ? "bytes" : "samples");
  column(table, out, "stack", samples, [&](report::Writer& o, const ViewSample* s) { number(o, stack_of(s->node)); });
  column(table, out, "time", samples, [](report::Writer& o, const ViewSample* s) { o << milliseconds(s->time_ns); });
  column(table, out, "weight", samples, [](report::Writer& o, const ViewSample* s) { number(o, s->count); });
  table.number("length", std::uint64_t{samples.size()});
  table.close();
}

void FirefoxThread::stacks(JsonObject& object) {
  report::Writer& out = object.key("stackTable");
  JsonObject table(out);
  column(table, out, "frame", stacks_, [](report::Writer& o, const Stack& s) { number(o, s.frame); });
  column(table, out, "prefix", stacks_,
         [](report::Writer& o, const Stack& s) { s.prefix < 0 ? void(o << "null") : void(o.decimal(s.prefix)); });
  column(table, out, "category", stacks_,
         [&](report::Writer& o, const Stack& s) { number(o, firefox_category(view_.entries[s.entry])); });
  constant(table, out, "subcategory", stacks_, "0");
  table.number("length", std::uint64_t{stacks_.size()});
  table.close();
}

void FirefoxThread::frames(JsonObject& object) {
  const auto& all = frames_.list();
  report::Writer& out = object.key("frameTable");
  JsonObject table(out);
  column(table, out, "address", all, [&](report::Writer& o, const FrameKey& key) {
    const RecordedFrame* frame = frame_of(key.first);
    const bool has = frame != nullptr && frame->address != 0 && frame->address < kMostExact;
    has ? void(o.decimal(frame->address)) : void(o << "-1");
  });
  column(table, out, "inlineDepth", all, [](report::Writer& o, const FrameKey& key) { number(o, key.second); });
  column(table, out, "category", all,
         [&](report::Writer& o, const FrameKey& key) { number(o, firefox_category(view_.entries[key.first])); });
  constant(table, out, "subcategory", all, "0");
  column(table, out, "func", all, [&](report::Writer& o, const FrameKey& key) {
    const ViewEntry& entry = view_.entries[key.first];
    const std::uint32_t module = entry.function == kNoIndex ? kNoIndex : recording_.functions()[entry.function].module;
    const std::uint32_t function = functions_({entry.name, module});
    if (function == function_files_.size()) function_files_.push_back(kNoIndex);
    if (const RecordedFrame* frame = frame_of(key.first); frame != nullptr && frame->file != kNoIndex)
      function_files_[function] = frame->file;
    number(o, function);
  });
  for (const std::string_view name : {"nativeSymbol", "implementation", "column"})
    constant(table, out, name, all, "null");
  constant(table, out, "innerWindowID", all, "0");
  column(table, out, "line", all, [&](report::Writer& o, const FrameKey& key) {
    const RecordedFrame* frame = frame_of(key.first);
    frame != nullptr && frame->line != 0 ? void(o.decimal(std::uint64_t{frame->line})) : void(o << "null");
  });
  table.number("length", std::uint64_t{all.size()});
  table.close();
}

void FirefoxThread::functions(JsonObject& object) {
  const auto& all = functions_.list();
  report::Writer& out = object.key("funcTable");
  JsonObject table(out);
  column(table, out, "name", all, [&](report::Writer& o, const auto& f) { number(o, strings_(f.first)); });
  for (const std::string_view name : {"isJS", "relevantForJS"}) constant(table, out, name, all, "false");
  column(table, out, "resource", all, [&](report::Writer& o, const auto& f) {
    f.second == kNoIndex ? void(o << "-1") : void(o.decimal(std::uint64_t{resources_(f.second)}));
  });
  column(table, out, "fileName", function_files_, [&](report::Writer& o, std::uint32_t file) {
    file == kNoIndex ? void(o << "null") : void(o.decimal(std::uint64_t{strings_(recording_.files()[file])}));
  });
  for (const std::string_view name : {"lineNumber", "columnNumber"}) constant(table, out, name, all, "null");
  table.number("length", std::uint64_t{all.size()});
  table.close();
}

void FirefoxThread::resources(JsonObject& object) {
  const auto& all = resources_.list();
  report::Writer& out = object.key("resourceTable");
  JsonObject table(out);
  column(table, out, "lib", all, [&](report::Writer& o, std::uint32_t module) { number(o, libraries_(module)); });
  column(table, out, "name", all,
         [&](report::Writer& o, std::uint32_t module) { number(o, strings_(recording_.modules()[module].name)); });
  constant(table, out, "host", all, "null");
  constant(table, out, "type", all, "1");  // resourceTypes.library
  table.number("length", std::uint64_t{all.size()});
  table.close();
}

void FirefoxThread::empty_tables(JsonObject& object) {
  object.key("nativeSymbols") << R"({"libIndex":[],"address":[],"name":[],"functionSize":[],"length":0})";
  object.key("markers") << R"({"data":[],"name":[],"startTime":[],"endTime":[],"phase":[],"category":[],"length":0})";
}

void FirefoxThread::facts(JsonObject& object) {
  const RecordedThread& thread = recording_.threads()[thread_];
  const RecordedProcess& process = recording_.processes()[thread.process];
  object.word("processType", "default");
  const bool is_process = process.pid != 0;  // false for folded stacks
  object.text("processName", !is_process            ? shown_process(recording_, thread.process)
                             : process.comm.empty() ? "process"
                                                    : process.comm);
  object.number("processStartupTime", std::uint64_t{0});
  object.null("processShutdownTime");
  object.key("registerTime") << milliseconds(thread.first_ns);
  object.null("unregisterTime");
  object.key("pausedRanges") << "[]";
  object.text("name", thread.tid == 0       ? shown_thread(recording_, thread_)
                      : thread.name.empty() ? thread.comm
                                            : thread.name);
  object.boolean("isMainThread", thread.tid == process.pid);
  object.word("pid", std::to_string(process.pid));
  object.number("tid", std::uint64_t{thread.tid});
}

void FirefoxThread::write(report::Writer& out, const std::vector<const ViewSample*>& all) {
  JsonObject object(out);
  facts(object);
  samples(object, all);  // first: each table numbers the elements of the next one
  stacks(object);
  frames(object);
  functions(object);
  resources(object);
  empty_tables(object);
  object.key("stringArray");
  report::json_array(out, strings_.list(), "", [&out](const std::string& text) { out << report::json_string(text); });
  object.close();
}

}  // namespace mixstack::formats
