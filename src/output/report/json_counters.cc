#include "output/report/json_counters.h"

#include <fmt/format.h>

namespace mixstack::report {
namespace {

std::string_view reason_name(GcReason reason) {
  switch (reason) {
    case GcReason::small_objects:
      return "small_objects";
    case GcReason::large_objects:
      return "large_objects";
    case GcReason::induced:
      return "induced";
    case GcReason::low_memory:
      return "low_memory";
    case GcReason::out_of_space:
      return "out_of_space";
    case GcReason::other:
      break;
  }
  return "other";
}

void write_generation(Writer& out, const GcGeneration& generation) {
  JsonObject object(out);
  object.number("collections", generation.collections);
  if (generation.survived) object.key("survived") << fmt::format("{:.3f}", *generation.survived);
  object.number("size_before", generation.size_before);
  object.number("size_after", generation.size_after);
  object.number("fragmentation", generation.fragmentation);
  object.number("budget", generation.budget);
  object.close();
}

}  // namespace

void write_counters(JsonObject& object, Writer& out, const RuntimeCounters& counters) {
  JsonObject fields(object.key("counters"));
  const auto number = [&fields](std::string_view name, const std::optional<std::uint64_t>& value) {
    if (value) fields.number(name, *value);
  };
  number("exceptions", counters.exceptions);
  number("methods", counters.methods);
  number("il_bytes", counters.il_bytes);
  if (counters.compiling) fields.number("compiling_ns", std::int64_t{counters.compiling->count()});
  number("contentions", counters.contentions);
  if (counters.pauses) fields.number("pauses_us", std::int64_t{counters.pauses->count()});
  number("committed_bytes", counters.committed);
  fields.boolean("server", counters.is_server);
  if (counters.last) {
    JsonObject last(fields.key("last_collection"));
    last.number("number", counters.last->number);
    last.number("generation", std::uint64_t{counters.last->generation});
    last.word("reason", reason_name(counters.last->reason));
    last.close();
  }
  if (!counters.generations.empty()) {
    fields.key("generations");
    json_array(out, counters.generations, "", [&out](const GcGeneration& g) { write_generation(out, g); });
  }
  fields.close();
}

}  // namespace mixstack::report
