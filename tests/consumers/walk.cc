// Walks a live process and prints the stack of its main thread: walk PID
#include <cstdio>
#include <cstdlib>

#include <mixstack/session.h>

// A type of ours that derives from one of theirs: needs vtables and type information to be where both see them.
struct Nobody final : mixstack::NameProvider {
  std::string_view provider_name() const override { return "nobody"; }
  std::optional<mixstack::SymbolInfo> describe(const mixstack::Frame&) override { return std::nullopt; }
};

int main(int count, char** arguments) {
  if (count != 2) return 2;
  auto session = mixstack::Session::open_process(static_cast<std::uint32_t>(std::atoi(arguments[1])));
  if (!session) return 3;
  (*session)->add_name_provider(std::make_shared<Nobody>());
  mixstack::DumpOptions options;
  options.stop_timeout = std::chrono::seconds(5);
  auto capture = (*session)->capture(options);
  if (!capture) return 4;
  auto walker = (*session)->walker(std::move(*capture), {});
  if (!walker || walker->capture().threads.empty()) return 5;
  mixstack::FrameRange frames = walker->frames(walker->capture().threads.front());
  for (const mixstack::Frame& frame : frames) std::printf("%s\n", walker->name(frame).name.c_str());
  return frames.stop() == mixstack::StopReason::end_of_stack ? 0 : 6;
}
