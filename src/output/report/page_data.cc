// The data block of the viewer page: "MXP1", the length of a JSON head, the head, columns of numbers.
// Input: a Recording. Output: bytes that web/ reads; names are escaped as for a terminal.
// Algorithm:
//   1. Choose the slice (the page's unit of time), a multiple or a whole part of the sampling period: else some columns
//      of the timeline would hold more samples than others.
//   2. Spread samples of many periods over the slices they lasted; sort; add up those of equal slice, context, stack.
//   3. Keep only nodes of the call tree that these samples need, and merge repeated unnamed ones. Parents have smaller
//      indices than their children, so one backward pass marks the ancestors, and one forward pass numbers the nodes.
//   4. Write tree and samples as columns, parents and slices as differences: these deflate better.
// Bounds: about kPageSlices slices; a sample becomes at most kMostParts parts, and one part once kMostOfAll are listed.
#include "output/report/page_data.h"

#include <zlib.h>

#include <algorithm>
#include <map>
#include <span>
#include <tuple>

#include "base/words/recording_view.h"
#include "output/report/page_columns.h"
#include "output/report/words.h"

namespace mixstack::report {
namespace {

std::string shown(std::string_view text) { return json_string(escape_for_terminal(text)); }

void put(JsonObject& object, std::string_view name, std::string_view text) { object.key(name) << shown(text); }

std::uint64_t slice_of(const Recording& recording) {
  std::uint64_t end = recording.facts.duration_ns;
  for (const Sample& sample : recording.samples()) end = std::max(end, sample.time_ns);
  const std::uint64_t least = std::max(recording.slice_ns(), end / kPageSlices + 1);
  // A whole number of slices to a period or the other way round: else some columns of the timeline hold one more sample
  // than others.
  const std::uint64_t period = std::max(recording.period_ns(SampleClock::cpu), recording.period_ns(SampleClock::wall));
  if (period == 0) return least;
  return period >= least ? (period + period / least - 1) / (period / least) : (least + period - 1) / period * period;
}

struct PageSample {
  std::uint32_t slice = 0, context = 0, stack = 0, count = 0;
  [[nodiscard]] auto key() const { return std::tie(slice, context, stack); }
};

/// A sample of many periods lasted as long as these: one part for each slice.
void add_parts(std::vector<PageSample>& list, const Sample& sample, std::uint64_t period_ns, std::uint64_t slice_ns,
               std::uint64_t last_slice) {
  constexpr std::uint64_t kMostParts = 64, kMostOfAll = 1u << 22;
  std::uint64_t parts = std::min({std::uint64_t{sample.count}, sample.count * period_ns / slice_ns + 1, kMostParts});
  if (list.size() > kMostOfAll) parts = 1;
  for (std::uint64_t i = 0; i < parts; i++) {
    const std::uint64_t before = sample.count * i / parts, after = sample.count * (i + 1) / parts;
    const std::uint64_t slice = std::min((sample.time_ns + before * period_ns) / slice_ns, last_slice);
    list.push_back(
        {static_cast<std::uint32_t>(slice), sample.context, sample.stack, static_cast<std::uint32_t>(after - before)});
  }
}

/// Samples with equal slice, context and stack are added up.
std::vector<PageSample> page_samples(const Recording& recording, std::uint64_t slice_ns) {
  std::vector<PageSample> list;
  list.reserve(recording.samples().size());
  std::uint64_t end = recording.facts.duration_ns;
  for (const Sample& s : recording.samples()) end = std::max(end, s.time_ns);
  for (const Sample& s : recording.samples())
    add_parts(list, s, recording.period_ns(recording.contexts()[s.context].clock), slice_ns, end / slice_ns);
  std::sort(list.begin(), list.end(), [](const PageSample& a, const PageSample& b) { return a.key() < b.key(); });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < list.size(); i++) {
    if (kept > 0 && list[kept - 1].key() == list[i].key() && list[kept - 1].count <= 0xffffffffu - list[i].count) {
      list[kept - 1].count += list[i].count;
    } else {
      list[kept++] = list[i];
    }
  }
  list.resize(kept);
  return list;
}

/// Nodes that samples need, in their order, and the number each has among these.
struct UsedNodes {
  std::vector<std::uint32_t> list;
  std::vector<std::uint32_t> number;
};

UsedNodes used_nodes(const Recording& recording, std::span<const PageSample> samples) {
  const auto& nodes = recording.nodes();
  std::vector<bool> used(nodes.size());
  used[0] = true;
  for (const PageSample& sample : samples) used[sample.stack] = true;
  for (std::size_t i = nodes.size(); i-- > 1;)
    if (used[i]) used[nodes[i].parent] = true;
  UsedNodes result;
  result.number.resize(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); i++) {
    if (!used[i]) continue;
    if (repeats_unnamed(recording, static_cast<std::uint32_t>(i))) {
      result.number[i] = result.number[nodes[i].parent];
      continue;
    }
    result.number[i] = static_cast<std::uint32_t>(result.list.size());
    result.list.push_back(static_cast<std::uint32_t>(i));
  }
  return result;
}

void add_tree(PageColumns& columns, const Recording& recording, const UsedNodes& used) {
  const auto& functions = recording.functions();
  const auto& frames = recording.frames();
  columns.words("function_module", functions.size(), [&](std::size_t i) { return functions[i].module; });
  columns.bytes("function_kind", functions.size(), [&](std::size_t i) { return functions[i].kind; });
  columns.bytes("function_user", functions.size(), [&](std::size_t i) { return functions[i].is_user ? 1 : 0; });
  columns.words("frame_function", frames.size(), [&](std::size_t i) { return frames[i].function; });
  columns.words("frame_line", frames.size(), [&](std::size_t i) { return frames[i].line; });
  columns.words("frame_file", frames.size(), [&](std::size_t i) { return frames[i].file; });
  columns.bytes("frame_inlining", frames.size(), [&](std::size_t i) { return frames[i].inlining; });
  columns.bytes("frame_trust", frames.size(), [&](std::size_t i) { return frames[i].trust; });
  const auto node = [&](std::size_t i) { return recording.nodes()[used.list[i]]; };
  // As the distance to the parent: mostly 1.
  columns.words("node_parent", used.list.size(),
                [&](std::size_t i) { return static_cast<std::uint32_t>(i) - used.number[node(i).parent]; });
  columns.words("node_frame", used.list.size(), [&](std::size_t i) { return node(i).frame; });
}

void add_samples(PageColumns& columns, const Recording& recording, std::span<const PageSample> samples,
                 const UsedNodes& used) {
  const auto& contexts = recording.contexts();
  const std::size_t size = contexts.size();
  columns.words("context_thread", size, [&](std::size_t i) { return contexts[i].thread; });
  columns.bytes("context_clock", size, [&](std::size_t i) { return contexts[i].clock; });
  columns.bytes("context_activity", size, [&](std::size_t i) { return contexts[i].activity; });
  columns.bytes("context_gc_mode", size, [&](std::size_t i) { return contexts[i].gc_mode; });
  columns.bytes("context_gc_pending", size, [&](std::size_t i) { return contexts[i].gc_pending ? 1 : 0; });
  columns.bytes("context_stop", size, [&](std::size_t i) { return contexts[i].stop; });
  columns.words("context_call", size,
                [&](std::size_t i) { return static_cast<std::uint32_t>(contexts[i].system_call); });
  columns.words("sample_slice", samples.size(),  // as the distance to the one before
                [&](std::size_t i) { return samples[i].slice - (i == 0 ? 0 : samples[i - 1].slice); });
  columns.words("sample_context", samples.size(), [&](std::size_t i) { return samples[i].context; });
  columns.words("sample_stack", samples.size(), [&](std::size_t i) { return used.number[samples[i].stack]; });
  columns.words("sample_count", samples.size(), [&](std::size_t i) { return samples[i].count; });
}

void write_account(Writer& out, const RecordingAccount& account) {
  JsonObject object(out);
  object.number("samples", account.samples);
  object.number("walked", account.walked);
  object.number("cut", account.cut);
  object.number("lost_in_kernel", account.lost_in_kernel);
  object.number("lost_in_queue", account.lost_in_queue);
  object.number("lost_in_tree", account.lost_in_tree);
  object.number("lost_to_stops", account.lost_to_stops);
  object.number("skipped", account.skipped);
  object.close();
}

void write_facts(Writer& out, const RecordingFacts& facts) {
  JsonObject object(out);
  object.number("started_ms", facts.started_unix_ns / 1'000'000);
  object.number("duration_ns", facts.duration_ns);
  object.number("cpu_hertz", std::uint64_t{facts.cpu_hertz});
  object.number("wall_hertz", std::uint64_t{facts.wall_hertz});
  put(object, "source", facts.source);
  put(object, "arch", facts.arch);
  put(object, "host", facts.host);
  put(object, "version", facts.version);
  object.number("own_cpu_ns", facts.own_cpu_ns);
  object.number("holds", facts.holds.holds);
  object.number("held_ns", facts.holds.total_ns);
  object.number("longest_hold_ns", facts.holds.longest_ns);
  write_account(object.key("account"), facts.account);
  json_array(object.key("notes"), facts.notes, "", [&](const std::string& note) { out << shown(note); });
  object.close();
}

void write_process(Writer& out, const RecordedProcess& process) {
  JsonObject object(out);
  object.number("pid", std::uint64_t{process.pid});
  object.number("parent", std::uint64_t{process.parent});
  put(object, "comm", process.comm);
  put(object, "command", process.command);
  put(object, "runtime", process.runtime);
  object.close();
}

void write_thread(Writer& out, const RecordedThread& thread) {
  JsonObject object(out);
  object.number("process", std::uint64_t{thread.process});
  object.number("tid", std::uint64_t{thread.tid});
  put(object, "comm", thread.comm);
  put(object, "name", thread.name);
  object.number("first_ns", thread.first_ns);
  object.number("last_ns", thread.last_ns);
  object.close();
}

/// Names of the system calls that threads were in, by number.
void write_calls(Writer& out, const Recording& recording) {
  const auto arch =
      std::find_if(kArchs.begin(), kArchs.end(), [&](Arch a) { return arch_name(a) == recording.facts.arch; });
  const Arch of = arch == kArchs.end() ? Arch::unknown : *arch;
  std::map<std::int32_t, std::string> names;
  for (const SampleContext& context : recording.contexts())
    if (context.system_call >= 0) names.try_emplace(context.system_call, syscall_words(of, context.system_call));
  JsonObject object(out);
  for (const auto& [number, name] : names) object.text(std::to_string(number), name);
  object.close();
}

void write_functions(Writer& out, const Recording& recording) {
  out << '[';
  for (std::uint32_t i = 0; i < recording.functions().size(); i++)
    (i == 0 ? out : out << ',') << shown(shown_name(recording, i));
  out << ']';
}

/// Words of codes that columns hold, so that the page knows none by number.
void write_words(JsonObject& object, Writer& out) {
  out << "[";
  for (int i = 0; i <= static_cast<int>(kLastStopReason); i++)
    (i == 0 ? out : out << ',') << json_string(stop_words(static_cast<StopReason>(i)));
  out << "]";
  object.key("trusts") << '[';
  for (int i = 0; i <= static_cast<int>(Trust::inferred); i++)
    (i == 0 ? out : out << ',') << json_string(trust_words(static_cast<Trust>(i)));
  out << "]";
}

void write_look(Writer& out, const Recording& recording, const PageLook& look) {
  const auto clock = look.clock ? look.clock : shown_clock(recording, {.idle = look.idle});
  JsonObject object(out);
  object.key("clock") << (!clock ? "null" : std::to_string(static_cast<unsigned>(*clock)));
  object.boolean("idle", look.idle);
  object.boolean("inverted", look.inverted);
  object.close();
}

void write_head(Writer& out, const Recording& recording, std::string_view name, const PageLook& look,
                std::uint64_t slice_ns) {
  JsonObject object(out);
  put(object, "name", name);
  write_look(object.key("look"), recording, look);
  object.number("slice_ns", slice_ns);
  write_facts(object.key("facts"), recording.facts);
  json_array(object.key("processes"), recording.processes(), "", [&](const auto& p) { write_process(out, p); });
  json_array(object.key("threads"), recording.threads(), "", [&](const auto& t) { write_thread(out, t); });
  json_array(object.key("modules"), recording.modules(), "", [&](const RecordedModule& module) {
    out << '[' << shown(module.name) << ',' << shown(module.path) << ']';
  });
  json_array(object.key("files"), recording.files(), "", [&](const std::string& file) { out << shown(file); });
  write_functions(object.key("functions"), recording);
  write_calls(object.key("calls"), recording);
  write_words(object, object.key("stops"));
}

}  // namespace

std::string page_data(const Recording& recording, std::string_view name, const PageLook& look) {
  const std::uint64_t slice_ns = slice_of(recording);
  const std::vector<PageSample> samples = page_samples(recording, slice_ns);
  const UsedNodes used = used_nodes(recording, samples);
  PageColumns columns;
  add_tree(columns, recording, used);
  add_samples(columns, recording, samples, used);
  std::string head = collect([&](Writer& out) {
    write_head(out, recording, name, look, slice_ns);
    out << ",\"columns\":";
    columns.write_head(out);
    out << '}';
  });
  head.resize((head.size() + 3) / 4 * 4, ' ');
  std::string whole = "MXP1";
  for (unsigned shift = 0; shift < 32; shift += 8) whole += static_cast<char>(head.size() >> shift & 0xffu);
  return whole + head + columns.content();
}

std::string deflated(std::string_view bytes, int level) {
  uLongf size = compressBound(static_cast<uLong>(bytes.size()));
  std::string result(size, '\0');
  const int done = compress2(reinterpret_cast<Bytef*>(result.data()), &size,
                             reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uLong>(bytes.size()), level);
  if (done != Z_OK || size >= bytes.size()) return std::string(bytes);
  result.resize(size);
  return result;
}

}  // namespace mixstack::report
