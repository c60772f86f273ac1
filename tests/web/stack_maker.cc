#include "web/stack_maker.h"

namespace mixstack::web_test {

StackMaker::StackMaker(const std::string& command) {
  RecordedProcess process;
  process.pid = 4711;
  process.comm = "dotnet";
  process.command = command;
  process.runtime = "10.0.1";
  process_ = recording_.process(process).value();
  RecordingFacts& facts = recording_.facts;
  facts.started_unix_ns = 1'790'000'000'000'000'000;
  facts.duration_ns = 10'000'000'000;
  facts.wall_hertz = 100;
  facts.source = "stops by ptrace";
  facts.arch = "x86_64";
  facts.host = "shop-7";
  facts.version = "0.1.0";
  facts.own_cpu_ns = 84'000'000;
}

void StackMaker::process(std::uint32_t pid, const std::string& comm) {
  RecordedProcess process;
  process.pid = pid;
  process.comm = comm;
  process_ = recording_.process(process).value();
}

std::uint32_t StackMaker::thread(const std::string& comm, const std::string& name) {
  RecordedThread thread;
  thread.process = process_;
  thread.tid = 4711 + static_cast<std::uint32_t>(recording_.threads().size());
  thread.comm = comm;
  thread.name = name;
  thread.last_ns = recording_.facts.duration_ns;
  return recording_.add_thread(thread).value();
}

std::uint32_t StackMaker::function(const std::string& name, const std::string& module, CodeKind kind, bool is_user) {
  RecordedModule where;
  where.name = module;
  where.path = module == "[kernel]" || module.empty() ? "" : "/srv/shop/" + module;
  RecordedFunction function;
  function.name = name;
  function.module = recording_.module(where).value();
  function.kind = kind;
  function.is_user = is_user;
  return recording_.function(function).value();
}

std::uint32_t StackMaker::frame(std::uint32_t function, std::uint32_t line, const std::string& file) {
  RecordedFrame frame;
  frame.function = function;
  frame.line = line;
  if (!file.empty()) frame.file = recording_.file(file).value();
  return recording_.frame(frame).value();
}

std::uint32_t StackMaker::stack(std::initializer_list<std::uint32_t> frames_outermost_first) {
  std::uint32_t node = 0;
  for (const std::uint32_t frame : frames_outermost_first) node = below(node, frame);
  return node;
}

std::uint32_t StackMaker::below(std::uint32_t stack, std::uint32_t frame) {
  return recording_.node({stack, frame}).value();
}

std::uint32_t StackMaker::context(std::uint32_t thread, Activity activity, bool gc_pending, SampleClock clock,
                                  StopReason stop) {
  SampleContext context;
  context.thread = thread;
  context.clock = clock;
  context.activity = activity;
  context.gc_pending = gc_pending;
  context.gc_mode = activity == Activity::running ? GcMode::cooperative : GcMode::preemptive;
  context.stop = stop;
  context.system_call = activity == Activity::waiting ? 202 : -1;
  return recording_.context(context).value();
}

void StackMaker::sample(std::uint64_t time_ms, std::uint32_t stack, std::uint32_t context, std::uint32_t count) {
  Sample sample;
  sample.time_ns = time_ms * 1'000'000;
  sample.stack = stack;
  sample.context = context;
  sample.count = count;
  if (!recording_.add(sample)) return;
  recording_.facts.account.samples += count;
  recording_.facts.account.walked += 1;
  if (recording_.contexts()[context].stop != StopReason::end_of_stack) recording_.facts.account.cut += count;
}

}  // namespace mixstack::web_test
