#include <fmt/format.h>

#include <algorithm>

#include "output/report/escape.h"
#include "output/report/memory.h"
#include "output/report/native_growth.h"
#include "output/report/rate_words.h"
#include "output/report/words.h"

namespace mixstack::report {
namespace {

constexpr std::size_t kMostLabels = 8, kMostSites = 12, kMostGone = 5;
constexpr std::uint64_t kLeastBytes = 64 << 10;  // of a site or a label that gets a line

std::string megabytes(std::uint64_t bytes) { return fmt::format("{:.1f}", static_cast<double>(bytes) / 1e6); }
std::string grown(std::uint64_t before, std::uint64_t after) {
  return fmt::format("{:+.1f}", (static_cast<double>(after) - static_cast<double>(before)) / 1e6);
}
double seconds_of(const NativeGrowth& growth) {
  return std::max(std::chrono::duration<double>(growth.time).count(), 1e-3);
}

std::string site_words(const NativeSite& site) {
  if (site.place.empty()) return "(no stack was seen)";
  std::string words = escape_for_terminal(site.place);
  if (!site.via.empty()) words += " by " + escape_for_terminal(site.via);
  if (!site.caller.empty()) words += ", called by " + escape_for_terminal(site.caller);
  return words;
}

void write_labels(Writer& out, const NativeGrowth& growth) {
  out << fmt::format("\n{:>12} {:>10} {:>10} {:>10}\n", "grew by MB", "came", "went", "now");
  NativeLabel rest;
  std::size_t smalls = 0;
  for (std::size_t i = 0; i < growth.labels.size(); i++) {
    const NativeLabel& one = growth.labels[i];
    if (i < kMostLabels && one.came + one.went >= kLeastBytes) {
      out << fmt::format("{:>12} {:>10} {:>10} {:>10}   {}\n", grown(one.before, one.after), megabytes(one.came),
                         megabytes(one.went), megabytes(one.after), label_words(one.label));
      continue;
    }
    smalls++;
    rest.before += one.before;
    rest.after += one.after;
    rest.came += one.came;
    rest.went += one.went;
  }
  if (smalls != 0)
    out << fmt::format("{:>12} {:>10} {:>10} {:>10}   {} of little change\n", grown(rest.before, rest.after),
                       megabytes(rest.came), megabytes(rest.went), megabytes(rest.after), counted(smalls, "line"));
  out << fmt::format("{:>12} {:>10} {:>10} {:>10}   all of it\n", grown(growth.before, growth.after),
                     megabytes(growth.came), megabytes(growth.went), megabytes(growth.after));
}

void write_site(Writer& out, const NativeSite& site, double seconds) {
  out << fmt::format("{:>10} {:>10}   {:<7}  {}  [{}]\n", megabytes(site.bytes),
                     amount_words(static_cast<double>(site.bytes) / seconds) + "/s",
                     site.tie == SiteTie::mapped ? "mapped" : "touched", site_words(site), label_words(site.label));
  if (!site.toucher.empty()) out << fmt::format("{:>33}first used by {}\n", "", escape_for_terminal(site.toucher));
  if (site.mapped_now > site.bytes + kLeastBytes)
    out << fmt::format("{:>33}{} MB of address space\n", "", megabytes(site.mapped_now));
}

/// The sites for which `is_shown`, the largest alone.
template <class IsShown>
void write_sites(Writer& out, const NativeGrowth& growth, std::string_view title, IsShown&& is_shown) {
  std::size_t shown = 0, left = 0;
  std::uint64_t rest = 0;
  for (const NativeSite& site : growth.sites) {
    if (site.bytes == 0 || !is_shown(site)) continue;
    if (shown >= kMostSites || site.bytes < kLeastBytes) {
      left++;
      rest += site.bytes;
      continue;
    }
    if (shown++ == 0) out << '\n' << title << fmt::format("\n{:>10} {:>10}\n", "MB", "a second");
    write_site(out, site, seconds_of(growth));
  }
  if (left != 0 && shown != 0)
    out << fmt::format("{:>10} {:>10}   {} more (--json has them all)\n", megabytes(rest), "", counted(left, "site"));
}

void write_gone(Writer& out, const NativeGrowth& growth) {
  constexpr std::uint64_t kTimes = 4;  // so many times what is left of it
  std::size_t shown = 0;
  for (const NativeSite& site : growth.sites) {
    const bool comes_and_goes = site.mapped_ever > kTimes * std::max(site.mapped_now, kLeastBytes);
    if (!comes_and_goes || site.is_steady() || shown == kMostGone) continue;
    if (shown++ == 0) out << "\nmapped and given back meanwhile:\n";
    out << fmt::format("{:>10} MB in {}, {} MB of it are there now: {}\n", megabytes(site.mapped_ever),
                       counted(site.calls, "call"), megabytes(site.mapped_now), site_words(site));
  }
}

}  // namespace

void write_native_text(Writer& out, const NativeGrowth& growth, const ReportOptions& /*options*/) {
  out << escape_for_terminal(growth.name)
      << fmt::format(" (pid {}): {} MB resident, {} MB more than {:.1f} s before\n", growth.pid,
                     megabytes(growth.after), grown(growth.before, growth.after), seconds_of(growth));
  write_labels(out, growth);
  write_sites(out, growth, "grew all the time, and is still there (without the managed heap and files), by site:",
              [](const NativeSite& site) { return site.is_steady(); });
  write_sites(out, growth, "came in one half of the time, and is still there: a working set, or not yet a leak:",
              [](const NativeSite& site) { return !site.is_steady(); });
  write_gone(out, growth);
  out << fmt::format("\nby {}{}{}\n", counted(growth.samples, "sample"),
                     growth.period > 1 ? fmt::format(", a first use in {}", growth.period) : "",
                     growth.lost != 0 ? fmt::format("; {} were lost", growth.lost) : "");
  if (!growth.has_calls)
    out << "calls that map memory are not seen, only its first uses: " << escape_for_terminal(growth.why_no_calls)
        << '\n';
  for (const std::string& note : growth.notes) out << escape_for_terminal(note) << '\n';
  if (growth.managed > (growth.came + 1) / 2)
    out << fmt::format("most of it is of the managed heap: mixstack memory {} --types --after 60s\n", growth.pid);
}

}  // namespace mixstack::report
