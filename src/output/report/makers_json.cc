#include "output/report/json_fields.h"
#include "output/report/makers.h"

namespace mixstack::report {
namespace {

void write_shares(Writer& out, const std::vector<MakerShare>& shares, std::string_view other) {
  json_array(out, shares, "\n", [&](const MakerShare& share) {
    JsonObject json(out);
    json.text("name", share.name);
    json.number("bytes", share.bytes);
    json.text_or_null(other, share.type_or_place);
    json.close();
  });
}

}  // namespace

void write_makers_json(Writer& out, const MemoryMakers& makers) {
  JsonObject json(out);
  json.word("format", "mixstack-makers");
  json.number("format_version", std::uint64_t{1});
  json.number("pid", std::uint64_t{makers.pid});
  json.text_or_null("name", makers.name);
  json.number("time_ns", static_cast<std::uint64_t>(makers.time.count()));
  json.boolean("has_bytes", makers.has_bytes);
  json.number("small", makers.small());
  json.number("large", makers.large());
  json_array(json.key("threads"), makers.threads, "\n", [&](const MakerThread& thread) {
    JsonObject one(out);
    one.number("tid", std::uint64_t{thread.tid});
    one.text_or_null("name", thread.name);
    one.number("small", thread.small);
    one.number("large", thread.large);
    one.close();
  });
  json.boolean("has_samples", makers.has_samples);
  json.text_or_null("why_no_samples", makers.why_no_samples);
  json.number("samples", makers.samples);
  json.number("sampled", makers.sampled);
  json.number("without_type", makers.without_type);
  write_shares(json.key("types"), makers.types, "place");
  write_shares(json.key("places"), makers.places, "type");
  json.text_or_null("source", makers.source);
  json.text_or_null("next", makers.has_samples
                                ? "mixstack record -m alloc -p " + std::to_string(makers.pid) + " -d 10 -o alloc.html"
                                : std::string());
  json.close();
  out << '\n';
}

}  // namespace mixstack::report
