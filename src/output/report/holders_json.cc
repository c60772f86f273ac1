// Holders of a heap as JSON: docs/formats/memory.schema.json.
#include "output/report/json_fields.h"
#include "output/report/memory.h"

namespace mixstack::report {
namespace {

void write_methods(Writer& out, const std::vector<std::string>& methods) {
  json_array(out, methods, "", [&](const std::string& m) { out << json_string(m); });
}

void write_place(Writer& out, const std::optional<StackPlace>& place) {
  if (!place) {
    out << "null";
    return;
  }
  JsonObject json(out);
  json.number("thread", std::uint64_t{place->thread});
  json.text_or_null("method", place->method);
  json.text_or_null("variable", place->variable);
  json.text_or_null("register", place->reg);
  json.hex_or_null("slot", place->slot);
  json.close();
}

void write_request(Writer& out, const HolderRequest& request) {
  JsonObject json(out);
  json.word("kind", to_string(request.kind));
  json.text_or_null("method", request.method);
  json.text_or_null("what", request.what);
  json.close();
}

void write_roots(Writer& out, const Holder& holder) {
  json_array(out, holder.roots, "", [&](const HolderRoot& r) {
    JsonObject json(out);
    json.word("kind", to_string(r.kind));
    json.text_or_null("name", r.name);
    json.close();
  });
}

void write_holder(Writer& out, const Holder& holder) {
  JsonObject json(out);
  json.word("root", to_string(holder.root));
  json.word("shape", to_string(holder.shape));
  json.text_or_null("name", holder.name);
  json.text_or_null("field", holder.field);
  json.number("count", holder.count);
  json.number("own", holder.own);
  json.number("retained", holder.retained);
  json.hex_or_null("largest", holder.largest);
  write_methods(json.key("methods"), holder.methods);
  json_array(json.key("requests"), holder.requests, "", [&](const HolderRequest& r) { write_request(out, r); });
  write_place(json.key("place"), holder.place);
  write_roots(json.key("roots"), holder);
  json.number("more_roots", holder.more_roots);
  json.boolean("are_roots_all", holder.are_roots_all);
  json.boolean("is_verified", holder.is_verified);
  json_array(json.key("held"), holder.held, "\n", [&](const Holder& h) { write_holder(out, h); });
  json.number("rest", holder.rest);
  json.close();
}

void write_path(Writer& out, const HolderPath& path) {
  JsonObject json(out);
  json.number("count", path.count);
  json.number("own", path.own);
  json.number("retained", path.retained);
  json.hex_or_null("holder", path.holder);
  json.text_or_null("holder_name", path.holder_name);
  json.boolean("is_verified", path.is_verified);
  json_array(json.key("steps"), path.steps, "\n", [&](const HolderStep& s) {
    JsonObject step(out);
    step.word("root", to_string(s.root));
    step.text_or_null("name", s.name);
    step.text_or_null("field", s.field);
    step.number("count", s.count);
    step.hex_or_null("object", s.object);
    step.text_or_null("method", s.method);
    if (step.key("request"); s.request) {
      write_request(out, *s.request);
    } else {
      out << "null";
    }
    write_place(step.key("place"), s.place);
    step.close();
  });
  json.close();
}

}  // namespace

void write_holders_json(Writer& out, const HeapHolders& heap) {
  constexpr std::int64_t kMicrosecond = 1000;
  JsonObject json(out);
  json.boolean("is_exact", heap.is_exact);
  json.text_or_null("why_not", heap.why_not);
  json.word("certainty", to_string(heap.certainty));
  json.number("chains", heap.chains);
  json.number("chains_verified", heap.chains_verified);
  json.number("changed_words", heap.changed_words);
  json.boolean("is_server", heap.is_server);
  json.number("all_objects", heap.all_objects);
  json.number("all_bytes", heap.all_bytes);
  json.number("gap_bytes", heap.gap_bytes);
  json.number("held_objects", heap.held_objects);
  json.number("held_bytes", heap.held_bytes);
  json.number("local_objects", heap.local_objects);
  json.number("local_bytes", heap.local_bytes);
  json.number("stack_objects", heap.stack_objects);
  json.number("stack_bytes", heap.stack_bytes);
  json.number("references", heap.references);
  json.hex("reference_sum", heap.reference_sum);
  json.number("dangling", heap.dangling);
  json_array(json.key("roots"), heap.roots, "\n", [&](const RootSum& r) {
    JsonObject root(out);
    root.word("kind", to_string(r.kind));
    root.number("roots", r.roots);
    root.number("retained", r.retained);
    root.close();
  });
  json_array(json.key("tree"), heap.tree, "\n", [&](const Holder& h) { write_holder(out, h); });
  json.number("rest", heap.rest);
  json.text_or_null("asked", heap.asked);
  json.boolean("was_found", heap.was_found);
  json_array(json.key("paths"), heap.paths, "\n", [&](const HolderPath& p) { write_path(out, p); });
  json.number("more_paths", heap.more_paths);
  json.number("unheld", heap.unheld);
  json.number("pause_us", std::int64_t{heap.pause.count() / kMicrosecond});
  json.number("stops", std::uint64_t{heap.stops});
  json.number("copied_in_stop", heap.copied_in_stop);
  json.number("copied", heap.copied);
  json.number("graph_memory", heap.graph_memory);
  json.close();
}

}  // namespace mixstack::report
