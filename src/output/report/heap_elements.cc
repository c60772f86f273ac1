#include "output/report/heap_elements.h"

#include <fmt/format.h>

#include <algorithm>

#include "output/report/escape.h"
#include "output/report/json_fields.h"
#include "output/report/words.h"

namespace mixstack::report {
namespace {

constexpr std::size_t kMostShown = 5;
constexpr std::uint64_t kLeastText = 1000;  // bytes of strings of one text that are worth a line

std::string in_mb(std::uint64_t bytes) { return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6); }

void write_amount(Writer& out, const ObjectAmount& amount) {
  JsonObject json(out);
  json.number("count", amount.count);
  json.number("bytes", amount.bytes);
  json.close();
}

void write_strings(Writer& out, const HeapElements& e) {
  const char* about = e.one_in > 1 ? "about " : "";
  out << fmt::format("strings: {} in {}; {}{} repeat the text of another, {}{} less with one of each\n",
                     e.strings.count, in_mb(e.strings.bytes), about, e.duplicates.count, about,
                     in_mb(e.duplicates.bytes));
  for (std::size_t i = 0; i < std::min(kMostShown, e.most.size()); i++) {
    const DuplicateString& d = e.most[i];
    if (d.bytes < kLeastText) continue;
    out << fmt::format("{:>13} {:>12}  of {}", in_mb(d.bytes), d.count, counted(d.length, "character"));
    if (!d.text.empty()) out << ": \"" << escape_for_terminal(d.text) << '"' << (d.length > 100 ? "..." : "");
    out << '\n';
  }
}

}  // namespace

void write_elements_text(Writer& out, const HeapElements& e) {
  out << '\n';
  write_strings(out, e);
  out << fmt::format("empty: {} in {}, {} in {}", counted(e.empty_strings.count, "string"),
                     in_mb(e.empty_strings.bytes), counted(e.empty_arrays.count, "array"), in_mb(e.empty_arrays.bytes));
  if (e.lists.count != 0)
    out << fmt::format(", {} in {} of {}", counted(e.empty_lists.count, "list"), in_mb(e.empty_lists.bytes),
                       e.lists.count);
  out << '\n';
  out << fmt::format("oversized: {} at least half of which is zeros at the end: {} of their {}\n",
                     counted(e.half_empty_arrays.count, "array"), in_mb(e.zeros_of_them),
                     in_mb(e.half_empty_arrays.bytes));
  if (e.one_in > 1) out << fmt::format("(one text in {} was compared)\n", e.one_in);
  if (e.not_read.count != 0)
    out << fmt::format("(not looked into: {} in {})\n", counted(e.not_read.count, "large object"),
                       in_mb(e.not_read.bytes));
}

void write_elements_json(Writer& out, const HeapElements& e) {
  JsonObject json(out);
  write_amount(json.key("strings"), e.strings);
  write_amount(json.key("duplicates"), e.duplicates);
  json.number("one_in", std::uint64_t{e.one_in});
  json_array(json.key("most"), e.most, "\n", [&](const DuplicateString& d) {
    JsonObject one(out);
    one.number("count", d.count);
    one.number("length", d.length);
    one.number("bytes", d.bytes);
    one.text_or_null("text", d.text);
    one.close();
  });
  write_amount(json.key("empty_strings"), e.empty_strings);
  write_amount(json.key("arrays"), e.arrays);
  write_amount(json.key("empty_arrays"), e.empty_arrays);
  write_amount(json.key("half_empty_arrays"), e.half_empty_arrays);
  json.number("zeros_of_them", e.zeros_of_them);
  if (e.lists.count != 0) {
    write_amount(json.key("lists"), e.lists);
    write_amount(json.key("empty_lists"), e.empty_lists);
  } else {
    json.null("lists");
    json.null("empty_lists");
  }
  write_amount(json.key("not_read"), e.not_read);
  json.close();
}

}  // namespace mixstack::report
