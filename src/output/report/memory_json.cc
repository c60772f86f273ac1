#include "output/report/heap_elements.h"
#include "output/report/json_fields.h"
#include "output/report/memory.h"
#include "output/report/words.h"

namespace mixstack::report {
namespace {

using ByGeneration = std::array<std::uint64_t, kHeapGenerations>;

void number_or_null(JsonObject& in, std::string_view name, const std::optional<std::uint64_t>& value) {
  value ? in.number(name, *value) : in.null(name);
}

/// `{"0":12,"large":7}`: generations of nothing are left out.
void write_generations(Writer& out, const ByGeneration& values) {
  JsonObject json(out);
  for (std::size_t g = 0; g < kHeapGenerations; g++)
    if (values.at(g) != 0) json.number(generation_name(static_cast<HeapGeneration>(g)), values.at(g));
  json.close();
}

void write_managed(Writer& out, const ManagedMemory& managed) {
  JsonObject json(out);
  json.text_or_null("version", managed.version);
  json.boolean("is_known", managed.is_known);
  json.boolean("is_server", managed.is_server);
  json.number("heaps", std::uint64_t{managed.heaps});
  write_generations(json.key("objects"), managed.objects);
  ByGeneration regions{};
  for (std::size_t g = 0; g < kHeapGenerations; g++) regions.at(g) = managed.regions.at(g);
  write_generations(json.key("regions"), regions);
  json.close();
}

void write_arena(Writer& out, const MallocArena& arena) {
  JsonObject json(out);
  json.hex("address", arena.address);
  json.boolean("is_main", arena.is_main);
  json.boolean("is_whole", arena.is_whole);
  json.number("heaps", std::uint64_t{arena.heaps});
  json.number("used", arena.used);
  json.number("free", arena.free);
  json.number("used_chunks", arena.used_chunks);
  json.number("free_chunks", arena.free_chunks);
  json.close();
}

void write_account(Writer& out, const MemoryAccount& account) {
  JsonObject json(out);
  json.number("resident", account.resident);
  json.number("resident_by_kernel", account.resident_by_kernel);
  json.number("swapped", account.swapped);
  number_or_null(json, "limit", account.limit);
  number_or_null(json, "used_of_limit", account.used_of_limit);
  json_array(json.key("lines"), account.lines, "\n", [&](const MemoryLine& l) {
    JsonObject line(out);
    line.word("kind", to_string(l.kind));
    line.text_or_null("detail", l.detail);
    line.text("label", label_words(l));
    line.number("resident", l.resident);
    line.number("size", l.size);
    line.text_or_null("grows_by", grows_by(l.kind));
    line.text_or_null("shrinks_by", shrinks_by(l.kind));
    line.close();
  });
  json.text_or_null("allocator", account.allocator);
  json_array(json.key("arenas"), account.arenas, "\n", [&](const MallocArena& a) { write_arena(out, a); });
  json_array(json.key("unknown"), account.unknown, "\n", [&](const UnknownPiece& p) {
    JsonObject piece(out);
    piece.hex("begin", p.mapping.begin);
    piece.hex("end", p.mapping.end);
    piece.text("rights", p.rights);
    piece.text_or_null("path", p.path);
    piece.number("resident", p.resident);
    piece.close();
  });
  json_array(json.key("runtimes"), account.managed, "\n", [&](const ManagedMemory& m) { write_managed(out, m); });
  json_array(json.key("notes"), account.diagnoses, "\n", [&](const Diagnosis& d) {
    JsonObject note(out);
    note.word("code", error_name(d.error.code));
    note.text_or_null("subject", d.subject);
    note.text_or_null("text", d.text);
    note.close();
  });
  json.close();
}

void write_heap(Writer& out, const HeapTypes& heap) {
  constexpr std::int64_t kMicrosecond = 1000;
  JsonObject json(out);
  json.boolean("is_exact", heap.is_exact);
  json.text_or_null("why_not", heap.why_not);
  json.boolean("is_server", heap.is_server);
  json.number("heaps", std::uint64_t{heap.heaps});
  json.number("objects", heap.objects);
  json.number("bytes", heap.bytes);
  json.number("free_bytes", heap.free_bytes);
  write_generations(json.key("bytes_of"), heap.bytes_of);
  json.number("pause_us", std::int64_t{heap.pause.count() / kMicrosecond});
  json.number("stops", std::uint64_t{heap.stops});
  json.number("copied_in_stop", heap.copied_in_stop);
  if (heap.elements) {
    write_elements_json(json.key("elements"), *heap.elements);
  } else {
    json.null("elements");
  }
  json_array(json.key("types"), heap.types, "\n", [&](const TypeCount& t) {
    JsonObject type(out);
    type.hex("method_table", t.method_table);
    type.text_or_null("type", t.type);
    type.boolean("is_free", t.is_free);
    type.number("objects", t.all());
    type.number("bytes", t.all_bytes());
    write_generations(type.key("objects_of"), t.count);
    write_generations(type.key("bytes_of"), t.bytes);
    type.close();
  });
  json.close();
}

}  // namespace

void write_memory_json(Writer& out, const MemoryReport& report) {
  JsonObject json(out);
  json.word("format", "mixstack-memory");
  json.number("format_version", std::uint64_t{1});
  json.number("pid", std::uint64_t{report.pid});
  json.text_or_null("name", report.name);
  json.text_or_null("core", report.core_path);
  if (report.mark != nullptr) {
    write_mark_json(json.key("mark"), *report.mark);
  } else {
    json.null("mark");
  }
  if (report.account != nullptr) {
    write_account(json.key("account"), *report.account);
  } else {
    json.null("account");
  }
  json_array(json.key("heaps"), report.heaps, "\n", [&](const HeapTypes& h) { write_heap(out, h); });
  json_array(json.key("holders"), report.holders, "\n", [&](const HeapHolders& h) { write_holders_json(out, h); });
  json.close();
  out << '\n';
}

}  // namespace mixstack::report
