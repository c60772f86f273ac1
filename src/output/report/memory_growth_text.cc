#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "output/report/escape.h"
#include "output/report/memory.h"
#include "output/report/memory_growth.h"
#include "output/report/words.h"

namespace mixstack::report {
namespace {

constexpr std::int64_t kLeastShown = 100'000;  // bytes of growth, either way
constexpr std::size_t kMostShown = 25;
constexpr std::size_t kFull = 2;

std::string in_megabytes(std::uint64_t bytes) { return fmt::format("{:.1f}", static_cast<double>(bytes) / 1e6); }
std::string signed_megabytes(std::int64_t bytes) { return fmt::format("{:+.1f}", static_cast<double>(bytes) / 1e6); }

std::string side_words(const GrowthSide& side) {
  const std::string of =
      side.core_path.empty() ? fmt::format("process {}", side.pid) : "core " + escape_for_terminal(side.core_path);
  return side.name.empty() ? of : fmt::format("{} ({})", of, escape_for_terminal(side.name));
}

std::string rate_words_of(const MemoryGrowth& growth) {
  if (!growth.between) return {};
  const auto grown = static_cast<double>(growth.resident_after) - static_cast<double>(growth.resident_before);
  const double seconds = std::chrono::duration<double>(*growth.between).count();
  return fmt::format(", {:+.1f} kB a second", grown / seconds / 1e3);
}

void write_head(Writer& out, const MemoryGrowth& growth) {
  out << side_words(growth.after);
  if (!growth.is_same_process) out << ", compared with " << side_words(growth.before) << ", another process";
  if (growth.between) out << ", " << duration_words(*growth.between) << " later";
  if (growth.has_account)
    out << fmt::format(": {} MB resident, {} MB before{}", in_megabytes(growth.resident_after),
                       in_megabytes(growth.resident_before), rate_words_of(growth));
  if (growth.collections.size() > kFull)
    out << fmt::format("; {} meanwhile, {} of them full", counted(growth.collections[0], "collection"),
                       growth.collections[kFull]);
  out << '\n';
}

void write_label(Writer& out, std::int64_t grown, std::uint64_t before, std::uint64_t after, std::string_view label,
                 std::string_view hint) {
  out << fmt::format("{:>12} {:>11} {:>11}   {:<40}", signed_megabytes(grown), in_megabytes(before),
                     in_megabytes(after), label);
  if (!hint.empty()) out << "  " << hint;
  out << '\n';
}

void write_labels(Writer& out, const MemoryGrowth& growth) {
  out << fmt::format("\n{:>12} {:>11} {:>11}\n", "grew by MB", "before", "after");
  LabelGrowth small;
  std::size_t smalls = 0;
  bool is_first = true;
  for (const LabelGrowth& l : growth.labels) {
    if (std::abs(l.grown()) < kLeastShown) {
      smalls++;
      small.before += l.before;
      small.after += l.after;
      continue;
    }
    const bool has_hint = is_first && l.grown() > 0;
    write_label(out, l.grown(), l.before, l.after, label_words({l.kind, l.detail}),
                has_hint ? growth_words(l.kind) : std::string_view());
    is_first = false;
  }
  if (smalls != 0)
    write_label(out, small.grown(), small.before, small.after, counted(smalls, "line") + " of little change", {});
  write_label(out, static_cast<std::int64_t>(growth.resident_after - growth.resident_before), growth.resident_before,
              growth.resident_after, "all of it", {});
  if (growth.swapped_before != 0 || growth.swapped_after != 0)
    write_label(out, static_cast<std::int64_t>(growth.swapped_after - growth.swapped_before), growth.swapped_before,
                growth.swapped_after, "and swapped", {});
  if (growth.forecast) out << "\nlimit: " << forecast_words(*growth.forecast) << '\n';
}

std::string type_name(const TypeGrowth& t) {
  if (t.is_free) return "(gaps between objects)";
  return t.type.empty() ? fmt::format("(type at {:#x}, name not known)", t.method_table) : escape_for_terminal(t.type);
}

void write_types(Writer& out, const MemoryGrowth& growth) {
  if (!growth.is_exact && !growth.why_not.empty())
    out << "not certain: " << escape_for_terminal(growth.why_not) << '\n';
  if (!growth.has_types) return;
  const bool has_kept = growth.kept_seen != 0;
  if (has_kept)
    out << fmt::format(
        "\n\"kept\": in generation 2 after a full collection, and after {} more: garbage is not in it.\n",
        growth.kept_seen);
  out << fmt::format("\n{:>12} {:>12} {:>11} {:>12}", "grew by MB", "objects", "MB now", "old MB");
  out << (has_kept ? fmt::format(" {:>11}", "kept MB") : "") << "   type\n";
  std::size_t shown = 0, left = 0;
  for (const TypeGrowth& t : growth.types) {
    const auto objects = static_cast<std::int64_t>(t.objects_after - t.objects_before);
    if (t.grown() == 0 && objects == 0 && t.kept_grown() == 0) continue;
    if (shown == kMostShown) {
      left++;
      continue;
    }
    shown++;
    out << fmt::format("{:>12} {:>12} {:>11} {:>12}", signed_megabytes(t.grown()), fmt::format("{:+}", objects),
                       in_megabytes(t.bytes_after),
                       signed_megabytes(static_cast<std::int64_t>(t.old_after - t.old_before)));
    if (has_kept) out << fmt::format(" {:>11}", t.kept && !t.is_free ? signed_megabytes(t.kept_grown()) : "");
    out << "   " << type_name(t) << '\n';
  }
  if (left != 0) out << fmt::format("{:>12} {} more types have changed (--json has them all)\n", "", left);
  if (shown == 0) out << "             no type has changed\n";
}

}  // namespace

std::string forecast_words(const LimitForecast& f) {
  std::string text = fmt::format("{} of {} are used by the cgroup", size_words(f.used), size_words(f.limit));
  if (!f.left) return text + "; what cannot be dropped does not grow";
  text += fmt::format("; at {:.1f} kB a second they are used up in {}", f.bytes_a_second / 1e3, age_words(*f.left));
  text += f.kills_all.value_or(false) ? "; then the kernel kills all processes of it"
                                      : "; then the kernel kills a process of it, that which has most";
  return text + " (OOMKilled, exit code 137)";
}

std::string time_words(std::uint64_t unix_ns) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  if (unix_ns == 0) return {};
  const auto seconds = static_cast<std::time_t>(unix_ns / kSecond);
  std::tm parts{};
  if (::gmtime_r(&seconds, &parts) == nullptr) return {};
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02} UTC", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                     parts.tm_hour, parts.tm_min, parts.tm_sec);
}

void write_growth_text(Writer& out, const MemoryGrowth& growth) {
  write_head(out, growth);
  if (growth.has_account) write_labels(out, growth);
  write_types(out, growth);
  if (!growth.next.empty()) out << '\n';
  for (const NextCommand& n : growth.next) out << "next: " << n.command << "   (" << n.why << ")\n";
}

}  // namespace mixstack::report
