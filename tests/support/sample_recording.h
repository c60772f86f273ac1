// A recording made by hand: one of everything, with counts that tests know.
#pragma once

#include <initializer_list>
#include <string>

#include "mixstack/recording.h"

namespace mixstack::testing {

/// Of wall time at 100 Hz (155 samples running, 50 waiting) and processor time at 1000 Hz (7 samples):
///   start;Main;Work            60 of the main thread, and 7 of processor time
///   start;Main;Work;Helper     30, Helper inlined into Work
///   start;Main;memcpy          10 of the worker
///   start;futex_wait           50 of the worker, waiting
///   start;Main;Work;sys_read    5, in the kernel, while a collection was pending
///   memcpy                     50 of the worker, cut
class SampleRecording {
 public:
  SampleRecording() {
    facts();
    names();
    const auto main = context({.thread = 0, .activity = Activity::running});
    const auto worker = context({.thread = 1, .activity = Activity::running, .gc_mode = GcMode::preemptive});
    const auto waiting = context({.thread = 1, .activity = Activity::waiting, .system_call = 202});
    const auto in_gc = context({.thread = 0, .activity = Activity::running, .gc_pending = true});
    const auto cut = context({.thread = 1, .activity = Activity::running, .stop = StopReason::no_unwind_info});
    const auto cpu = context({.thread = 0, .clock = SampleClock::cpu, .activity = Activity::running});
    add(600'000'000, stack({start, run, work}), main, 60);
    add(0, stack({start, run, work, helper}), main, 30);
    add(10'000'000, stack({start, run, copy}), worker, 10);
    add(20'000'000, stack({start, wait}), waiting, 50);
    add(300'000'000, stack({start, run, work, read}), in_gc, 5);
    add(900'000'000, stack({copy}), cut, 50);
    add(5'000'000, stack({start, run, work}), cpu, 7);
  }
  Recording recording{};

 private:
  void facts() {
    RecordingFacts& f = recording.facts;
    f.started_unix_ns = 1'764'000'000'000'000'000;
    f.duration_ns = 2'000'000'000;
    f.cpu_hertz = 1000;
    f.wall_hertz = 100;
    f.source = "stops by ptrace";
    f.arch = "x86_64";
    f.host = "here";
    f.version = "0.1.0";
    f.own_cpu_ns = 12'345;
    f.holds.counts[3] = 17;
    f.holds.total_ns = 99;
    f.holds.longest_ns = 9;
    f.holds.holds = 17;
    f.account = {.samples = 212,
                 .walked = 200,
                 .cut = 50,
                 .lost_in_kernel = 1,
                 .lost_in_queue = 2,
                 .lost_in_tree = 3,
                 .lost_to_stops = 4,
                 .skipped = 5};
    f.notes = {"a <note> with \"marks\""};
  }
  void names() {
    const auto process =
        recording.process({.pid = 4711, .parent = 1, .comm = "app", .command = "dotnet app.dll", .runtime = "10.0.1"});
    (void)recording.add_thread({.process = *process, .tid = 4711, .comm = "app", .first_ns = 1, .last_ns = 2});
    (void)recording.add_thread(
        {.process = *process, .tid = 4712, .comm = ".NET TP Worker", .name = ".NET TP Worker", .first_ns = 3});
    const auto libc = *recording.module(
        {.name = "libc.so.6", .path = "/lib/libc.so.6", .build_id = "0123456789abcdef0123456789abcdef01234567"});
    const auto app = *recording.module({.name = "app", .path = "/srv/app.dll"});
    const auto kernel = *recording.module({.name = "[kernel]"});
    const auto file = *recording.file("/src/Program.cs");
    start = frame({.name = "start", .raw_name = "__libc_start_main", .module = libc}, {.address = 0x1000});
    run = frame({.name = "App.Main(string[])", .module = app, .kind = CodeKind::managed, .is_user = true},
                {.line = 10, .file = file, .address = 0x500});
    work = frame({.name = "App.Work()", .module = app, .kind = CodeKind::managed, .is_user = true},
                 {.line = 20, .file = file, .address = 0x600});
    helper = frame({.name = "App.Helper()", .module = app, .kind = CodeKind::managed, .is_user = true},
                   {.line = 33, .file = file, .inlining = Inlining::runtime, .address = 0x600});
    copy = frame({.name = "memcpy", .raw_name = "memcpy@@GLIBC_2.14", .module = libc}, {.address = 0x2000});
    wait = frame({.name = "futex;wait", .module = libc}, {.trust = Trust::certain, .address = 0x3000});
    read = frame({.name = "sys_read", .module = kernel, .kind = CodeKind::kernel}, {.address = 0xffffffff81000010});
  }
  std::uint32_t frame(const RecordedFunction& function, RecordedFrame frame) {
    frame.function = *recording.function(function);
    return *recording.frame(frame);
  }
  std::uint32_t context(const SampleContext& context) { return *recording.context(context); }
  std::uint32_t stack(std::initializer_list<std::uint32_t> outermost_first) {
    std::uint32_t node = 0;
    for (const std::uint32_t f : outermost_first) node = *recording.node({node, f});
    return node;
  }
  void add(std::uint64_t time_ns, std::uint32_t stack, std::uint32_t context, std::uint32_t count) {
    (void)recording.add({time_ns, stack, context, count});
  }
  std::uint32_t start = 0, run = 0, work = 0, helper = 0, copy = 0, wait = 0, read = 0;
};

inline Recording sample_recording() { return SampleRecording().recording; }

}  // namespace mixstack::testing
