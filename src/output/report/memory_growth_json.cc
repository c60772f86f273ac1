#include "output/report/json_fields.h"
#include "output/report/memory.h"
#include "output/report/memory_growth.h"

namespace mixstack::report {
namespace {

void write_pair(Writer& out, std::uint64_t before, std::uint64_t after) {
  JsonObject json(out);
  json.number("before", before);
  json.number("after", after);
  json.number("grown", static_cast<std::int64_t>(after - before));
  json.close();
}

void write_side(Writer& out, const GrowthSide& side) {
  JsonObject json(out);
  json.number("pid", std::uint64_t{side.pid});
  json.text_or_null("name", side.name);
  json.text_or_null("core", side.core_path);
  write_mark_json(json.key("mark"), side.mark);
  json.close();
}

void write_label(Writer& out, const LabelGrowth& l) {
  JsonObject json(out);
  json.word("kind", to_string(l.kind));
  json.text_or_null("detail", l.detail);
  json.text("label", label_words({l.kind, l.detail}));
  write_pair(json.key("resident"), l.before, l.after);
  json.text_or_null("grows_by", grows_by(l.kind));
  json.text_or_null("shrinks_by", shrinks_by(l.kind));
  json.close();
}

void write_type(Writer& out, const TypeGrowth& t) {
  JsonObject json(out);
  json.text_or_null("type", t.type);
  json.hex("method_table", t.method_table);
  json.boolean("is_free", t.is_free);
  write_pair(json.key("objects"), t.objects_before, t.objects_after);
  write_pair(json.key("bytes"), t.bytes_before, t.bytes_after);
  write_pair(json.key("old_bytes"), t.old_before, t.old_after);
  if (t.kept) {
    write_pair(json.key("kept_objects"), t.kept->objects_before, t.kept->objects_after);
    write_pair(json.key("kept_bytes"), t.kept->bytes_before, t.kept->bytes_after);
  } else {
    json.null("kept_objects");
    json.null("kept_bytes");
  }
  json.close();
}

void write_forecast(Writer& out, const LimitForecast& f) {
  JsonObject json(out);
  json.number("limit", f.limit);
  json.number("used", f.used);
  json.number("bytes_a_second", static_cast<std::int64_t>(f.bytes_a_second));
  if (f.left) {
    json.number("seconds_left", std::int64_t{f.left->count()});
  } else {
    json.null("seconds_left");
  }
  if (f.kills_all) {
    json.boolean("kills_all", *f.kills_all);
  } else {
    json.null("kills_all");
  }
  json.text("words", forecast_words(f));
  json.close();
}

}  // namespace

void write_mark_json(Writer& out, const MomentMark& mark) {
  constexpr std::uint64_t kMillisecond = 1'000'000;
  JsonObject json(out);
  if (mark.taken_unix_ns != 0) {
    json.number("taken_unix_ms", mark.taken_unix_ns / kMillisecond);
  } else {
    json.null("taken_unix_ms");
  }
  json.boolean("is_time_of_file", mark.is_time_of_file);
  json.text_or_null("host", mark.host);
  json.text_or_null("version", mark.version);
  json_array(json.key("runtimes"), mark.runtimes, "", [&](const MomentRuntime& r) {
    JsonObject runtime(out);
    runtime.text_or_null("version", r.version);
    json_array(runtime.key("collections"), r.collections, "", [&](std::uint64_t n) { out.decimal(n); });
    runtime.close();
  });
  json.close();
}

void write_growth_json(Writer& out, const MemoryGrowth& growth) {
  constexpr std::int64_t kMillisecond = 1'000'000;
  JsonObject json(out);
  json.word("format", "mixstack-memory-growth");
  json.number("format_version", std::uint64_t{1});
  write_side(json.key("before"), growth.before);
  write_side(json.key("after"), growth.after);
  json.boolean("is_same_process", growth.is_same_process);
  if (growth.between) {
    json.number("between_ms", std::int64_t{growth.between->count() / kMillisecond});
  } else {
    json.null("between_ms");
  }
  if (growth.has_account) {
    write_pair(json.key("resident"), growth.resident_before, growth.resident_after);
    write_pair(json.key("swapped"), growth.swapped_before, growth.swapped_after);
  } else {
    json.null("resident");
    json.null("swapped");
  }
  json_array(json.key("labels"), growth.labels, "\n", [&](const LabelGrowth& l) { write_label(out, l); });
  json.boolean("has_types", growth.has_types);
  json.boolean("is_exact", growth.is_exact);
  json.text_or_null("why_not", growth.why_not);
  json_array(json.key("collections"), growth.collections, "", [&](std::uint64_t n) { out.decimal(n); });
  json.number("kept_seen", std::uint64_t{growth.kept_seen});
  json_array(json.key("types"), growth.types, "\n", [&](const TypeGrowth& t) { write_type(out, t); });
  if (growth.forecast) {
    write_forecast(json.key("forecast"), *growth.forecast);
  } else {
    json.null("forecast");
  }
  json_array(json.key("next"), growth.next, "", [&](const NextCommand& n) {
    JsonObject next(out);
    next.text("command", n.command);
    next.text("why", n.why);
    next.close();
  });
  json.close();
  out << '\n';
}

}  // namespace mixstack::report
