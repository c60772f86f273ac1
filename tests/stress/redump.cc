// Dumps a process over and over through one Session and prints the stacks in a form that is quick to read back:
//   redump PID COUNT [LARGEST-GAP-MS] [SEED]
// Lines, fields separated by tabs:
//   S id raw-name module note   a symbol, before its first use
//   D pause-ns diagnoses        a dump begins
//   T tid comm managed-name stop-reason captured (0, 1) frames places
// `frames`, innermost first: kind, trust and flags as letters, then the symbol's id, separated by blanks. `places`: ip
// and sp of each. Standard input is not read; an error ends it with status 1 and a line "E text".
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <unordered_map>

#include "mixstack/session.h"

namespace {

using namespace mixstack;

constexpr std::string_view kKinds = "nmFS!?", kTrusts = "+cfpi";

std::string without_separators(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c == '\t' || c == '\n') c = ' ';
  return out;
}

class Printer {
 public:
  void print(const ProcessDump& dump) {
    out_.clear();
    body_.clear();
    fmt::format_to(std::back_inserter(body_), "D\t{}\t{}\n", dump.pause.count(), dump.diagnoses.size());
    for (const ThreadDump& t : dump.threads) print(dump, t);
    std::fwrite(out_.data(), 1, out_.size(), stdout);
    std::fwrite(body_.data(), 1, body_.size(), stdout);
  }

 private:
  void print(const ProcessDump& dump, const ThreadDump& t) {
    fmt::format_to(std::back_inserter(body_), "T\t{}\t{}\t{}\t{}\t{}\t", t.tid, without_separators(t.comm),
                   t.managed ? without_separators(t.managed->name) : "", to_string(t.trace.stop), t.captured ? 1 : 0);
    for (std::size_t i = 0; i < t.trace.frames.size(); i++) {
      const Frame& f = t.trace.frames[i];
      body_ += kKinds[static_cast<std::size_t>(f.kind)];
      body_ += kTrusts[static_cast<std::size_t>(f.trust)];
      if (f.is_funclet()) body_ += '*';
      if (f.is_interrupted) body_ += '^';
      if (f.witness_disagrees) body_ += '#';
      fmt::format_to(std::back_inserter(body_), "{} ", id_of(dump.symbols[t.symbols[i]]));
    }
    body_ += '\t';
    for (const Frame& f : t.trace.frames) fmt::format_to(std::back_inserter(body_), "{:x},{:x} ", f.pc.raw(), f.sp);
    body_ += '\n';
  }

  std::size_t id_of(const SymbolInfo& symbol) {
    std::string text = without_separators(symbol.raw_name.empty() ? symbol.name : symbol.raw_name) + '\t' +
                       without_separators(symbol.module) + '\t' + without_separators(symbol.note);
    const auto [it, is_new] = ids_.try_emplace(std::move(text), ids_.size());
    if (is_new) fmt::format_to(std::back_inserter(out_), "S\t{}\t{}\n", it->second, it->first);
    return it->second;
  }

  std::unordered_map<std::string, std::size_t> ids_;
  std::string out_, body_;
};

int fail_with(const Error& error) {
  fmt::print("E\terror {} os {} value {:#x}\n", static_cast<int>(error.code), error.os_error, error.value);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const auto number = [&](int i, long otherwise) { return i < argc ? std::strtol(argv[i], nullptr, 10) : otherwise; };
  const long count = number(2, 1);
  std::mt19937 random(static_cast<unsigned>(number(4, 1)));
  std::uniform_int_distribution<unsigned> gap(0, static_cast<unsigned>(number(3, 0)) * 1000);
  auto session = Session::open_process(static_cast<std::uint32_t>(number(1, 0)));
  if (!session) return fail_with(session.error());
  DumpOptions options;
  options.stop_timeout = std::chrono::seconds(5);
  Printer printer;
  for (long i = 0; i < count; i++) {
    auto dump = (*session)->dump(options);
    if (!dump) return fail_with(dump.error());
    printer.print(*dump);
    if (const unsigned pause = gap(random); pause > 0) ::usleep(pause);
  }
  return 0;
}
