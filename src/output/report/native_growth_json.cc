#include "output/report/json_fields.h"
#include "output/report/memory.h"
#include "output/report/native_growth.h"

namespace mixstack::report {
namespace {

void write_kind(JsonObject& json, const MemoryLine& label) {
  json.word("kind", to_string(label.kind));
  json.text_or_null("detail", label.detail);
  json.text("label", label_words(label));
}

void write_label(Writer& out, const NativeLabel& one) {
  JsonObject json(out);
  write_kind(json, one.label);
  json.number("before", one.before);
  json.number("after", one.after);
  json.number("came", one.came);
  json.number("went", one.went);
  json.close();
}

void write_site(Writer& out, const NativeSite& site) {
  JsonObject json(out);
  json.word("tie", site.tie == SiteTie::mapped ? "mapped" : "touched");
  json.text_or_null("place", site.place);
  json.text_or_null("via", site.via);
  json.text_or_null("caller", site.caller);
  json.text_or_null("toucher", site.toucher);
  write_kind(json, site.label);
  json.boolean("is_steady", site.is_steady());
  json.number("bytes", site.bytes);
  json.number("first_half", site.halves[0]);
  json.number("second_half", site.halves[1]);
  json.number("near_bytes", site.near_bytes);
  json.number("mapped_now", site.mapped_now);
  json.number("mapped_ever", site.mapped_ever);
  json.number("calls", site.calls);
  json.close();
}

}  // namespace

void write_native_json(Writer& out, const NativeGrowth& growth) {
  JsonObject json(out);
  json.word("format", "mixstack-native");
  json.number("format_version", std::uint64_t{1});
  json.number("pid", std::uint64_t{growth.pid});
  json.text_or_null("name", growth.name);
  json.number("time_ns", static_cast<std::uint64_t>(growth.time.count()));
  json.number("before", growth.before);
  json.number("after", growth.after);
  json.number("came", growth.came);
  json.number("went", growth.went);
  json.number("managed", growth.managed);
  json.number("files", growth.files);
  json_array(json.key("labels"), growth.labels, "\n", [&](const NativeLabel& one) { write_label(out, one); });
  json_array(json.key("sites"), growth.sites, "\n", [&](const NativeSite& site) { write_site(out, site); });
  json.boolean("has_calls", growth.has_calls);
  json.text_or_null("why_no_calls", growth.why_no_calls);
  json.number("period", growth.period);
  json.number("samples", growth.samples);
  json.number("lost", growth.lost);
  json_array(json.key("notes"), growth.notes, "", [&](const std::string& note) { out << json_string(note); });
  json.close();
  out << '\n';
}

}  // namespace mixstack::report
