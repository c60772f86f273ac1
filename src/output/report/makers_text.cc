#include <fmt/format.h>

#include <algorithm>

#include "output/report/escape.h"
#include "output/report/makers.h"
#include "output/report/rate_words.h"
#include "output/report/words.h"

namespace mixstack::report {
namespace {

constexpr std::size_t kMostThreads = 5, kMostTypes = 10, kMostPlaces = 10;

double seconds_of(const MemoryMakers& makers) {
  return std::max(std::chrono::duration<double>(makers.time).count(), 1e-3);
}

std::string percent(std::uint64_t part, std::uint64_t whole) {
  return fmt::format("{:.1f} %", whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

/// Bytes a second of a share of all that was allocated: samples tell shares, the runtime how much.
std::string rate(const MemoryMakers& makers, std::uint64_t part, std::uint64_t whole) {
  const double all = static_cast<double>(makers.small() + makers.large()) / seconds_of(makers);
  return amount_words(whole == 0 ? 0 : all * static_cast<double>(part) / static_cast<double>(whole)) + "/s";
}

void write_threads(Writer& out, const MemoryMakers& makers) {
  const std::uint64_t all = makers.small() + makers.large();
  out << fmt::format("\n{:>12} {:>8}  thread\n", "allocated", "share");
  for (std::size_t i = 0; i < std::min(makers.threads.size(), kMostThreads); i++) {
    const MakerThread& thread = makers.threads[i];
    const std::uint64_t bytes = thread.small + thread.large;
    out << fmt::format("{:>12} {:>8}  {} {}{}\n", rate(makers, bytes, all), percent(bytes, all), thread.tid,
                       escape_for_terminal(thread.name),
                       thread.large == 0 ? "" : ", " + percent(thread.large, bytes) + " of it large objects");
  }
  if (makers.threads.size() <= kMostThreads) return;
  std::uint64_t rest = 0;
  for (std::size_t i = kMostThreads; i < makers.threads.size(); i++)
    rest += makers.threads[i].small + makers.threads[i].large;
  out << fmt::format("{:>12} {:>8}  {} more threads\n", rate(makers, rest, all), percent(rest, all),
                     makers.threads.size() - kMostThreads);
}

void write_shares(Writer& out, const MemoryMakers& makers, const std::vector<MakerShare>& shares, std::size_t most,
                  std::string_view title, std::string_view joint) {
  out << fmt::format("\n{:>12} {:>8}  {}\n", "allocated", "share", title);
  for (std::size_t i = 0; i < std::min(shares.size(), most); i++) {
    const MakerShare& share = shares[i];
    out << fmt::format(
        "{:>12} {:>8}  {}{}\n", rate(makers, share.bytes, makers.sampled), percent(share.bytes, makers.sampled),
        escape_for_terminal(share.name),
        share.type_or_place.empty() ? "" : fmt::format("{}{}", joint, escape_for_terminal(share.type_or_place)));
  }
  if (shares.size() <= most) return;
  std::uint64_t rest = 0;
  for (std::size_t i = most; i < shares.size(); i++) rest += shares[i].bytes;
  out << fmt::format("{:>12} {:>8}  {} more (--json has them all)\n", rate(makers, rest, makers.sampled),
                     percent(rest, makers.sampled), shares.size() - most);
}

}  // namespace

void write_makers_text(Writer& out, const MemoryMakers& makers, const ReportOptions& /*options*/) {
  out << escape_for_terminal(makers.name) << fmt::format(" (pid {}): ", makers.pid);
  if (!makers.has_bytes) {
    out << "no runtime here tells what its threads allocate\n";
    return;
  }
  const std::uint64_t all = makers.small() + makers.large();
  out << fmt::format("{}/s of objects are made, {} of it large ones (looked at for {:.1f} s)\n",
                     amount_words(static_cast<double>(all) / seconds_of(makers)), percent(makers.large(), all),
                     seconds_of(makers));
  if (all == 0) return;
  write_threads(out, makers);
  if (!makers.has_samples) {
    out << "\ntypes and places are not known: " << escape_for_terminal(makers.why_no_samples) << '\n';
    return;
  }
  write_shares(out, makers, makers.types, kMostTypes, "type, and where most of it is made", ", by ");
  if (makers.without_type != 0)
    out << fmt::format("{:>12} {:>8}  (type not known)\n", rate(makers, makers.without_type, makers.sampled),
                       percent(makers.without_type, makers.sampled));
  write_shares(out, makers, makers.places, kMostPlaces, "place in the program, and what it makes most", ": ");
  out << fmt::format("\nby {}; what is made is not what stays: mixstack memory {} --types\n",
                     counted(makers.samples, "sample"), makers.pid);
  out << fmt::format("next: mixstack record -m alloc -p {} -d 10 -o alloc.html\n", makers.pid);
}

}  // namespace mixstack::report
