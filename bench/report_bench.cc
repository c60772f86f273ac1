// LINK: mixstack_output_report nlohmann_json::nlohmann_json
// JSON of 500 threads with 100 frames each: ours, written as it is made, against an nlohmann document of the same
// fields. Prints the time and size of each, and the ratio.
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "output/report/frame_view.h"
#include "output/report/json.h"
#include "support/sample_dump.h"

namespace {

using namespace mixstack;
using Clock = std::chrono::steady_clock;

constexpr unsigned kThreads = 500, kFrames = 100, kSymbols = 3000;

ProcessDump large_dump() {
  ProcessDump dump = testing::sample_dump();
  for (unsigned i = 0; i < kSymbols; i++)
    dump.symbols.push_back(
        testing::named("Company.Product.Service" + std::to_string(i) + ".Handle(System.String)", "Shop"));
  dump.threads.assign(kThreads, testing::sample_thread(1));
  for (unsigned t = 0; t < kThreads; t++) {
    ThreadDump& thread = dump.threads[t];
    thread.tid = thread.ns_tid = t + 1;
    for (unsigned f = static_cast<unsigned>(thread.trace.frames.size()); f < kFrames; f++) {
      thread.trace.frames.push_back(
          testing::frame_at(0x7f12a0000000 + f * 64, 0x7f0000001000 + f * 96, FrameKind::managed));
      thread.symbols.push_back(6 + (t * 7 + f) % kSymbols);
    }
  }
  return dump;
}

std::size_t write_ours(const ProcessDump& dump) {
  std::size_t bytes = 0;
  report::Writer writer([&bytes](std::string_view piece) { bytes += piece.size(); });
  report::write_json(writer, dump, {});
  writer.flush();
  return bytes;
}

std::string hex(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%lx", value);
  return text;
}

nlohmann::json frame_object(const Frame& frame, const SymbolInfo& symbol) {
  return {{"kind", report::kind_name(frame.kind)},
          {"ip", hex(frame.pc.raw())},
          {"sp", hex(frame.sp)},
          {"name", report::shown_name(frame, symbol, false)},
          {"raw_name", symbol.raw_name},
          {"module", symbol.module},
          {"file", nullptr},
          {"line", nullptr},
          {"module_path", symbol.module_path},
          {"build_id", nullptr},
          {"named", !symbol.name.empty()},
          {"symbol_offset", symbol.offset},
          {"note", nullptr},
          {"code_kind", to_string(frame.kind)},
          {"found_by", to_string(frame.found_by)},
          {"trust", to_string(frame.trust)},
          {"is_funclet", frame.is_funclet()},
          {"is_interrupted", frame.is_interrupted},
          {"witness_disagrees", frame.witness_disagrees},
          {"cfa", hex(frame.cfa)},
          {"module_offset", nullptr},
          {"method_desc", nullptr},
          {"method_start", nullptr},
          {"frame_address", nullptr}};
}

std::size_t write_peer(const ProcessDump& dump) {
  nlohmann::json document;
  for (const ThreadDump& thread : dump.threads) {
    nlohmann::json frames = nlohmann::json::array();
    for (std::size_t i = 0; i < thread.trace.frames.size(); i++)
      frames.push_back(frame_object(thread.trace.frames[i], report::symbol_of(dump, thread, i)));
    document["threads"].push_back({{"tid", thread.tid}, {"name", thread.comm}, {"frames", std::move(frames)}});
  }
  return document.dump().size();
}

/// The best of several runs, in milliseconds.
template <class Write>
double best(Write write, std::size_t& bytes) {
  double least = 1e9;
  for (int i = 0; i < 7; i++) {
    const auto start = Clock::now();
    bytes = write();
    least = std::min(least, std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  }
  return least;
}

}  // namespace

int main() {
  const ProcessDump dump = large_dump();
  std::size_t our_bytes = 0, peer_bytes = 0;
  const double ours = best([&] { return write_ours(dump); }, our_bytes);
  const double peer = best([&] { return write_peer(dump); }, peer_bytes);
  std::printf("json of %u frames: ours %.1f ms (%.1f MB, %.0f ns/frame), nlohmann %.1f ms (%.1f MB), ratio %.1fx\n",
              kThreads * kFrames, ours, static_cast<double>(our_bytes) / 1e6, ours * 1e6 / (kThreads * kFrames), peer,
              static_cast<double>(peer_bytes) / 1e6, peer / ours);
}
