#include "frontends/cli/arguments.h"

#include <gtest/gtest.h>

#include <sstream>

namespace mixstack::cli {
namespace {

using Action = Invocation::Action;

Invocation parse(const std::string& line) {
  std::istringstream words(line);
  return parse_arguments({std::istream_iterator<std::string>(words), {}});
}

DumpArguments dump(const std::string& line) {
  const Invocation invocation = parse(line);
  EXPECT_EQ(invocation.action, Action::dump) << line << ": " << invocation.text;
  return invocation.dump;
}

std::string usage_error(const std::string& line) {
  const Invocation invocation = parse(line);
  EXPECT_EQ(invocation.action, Action::usage_error) << line;
  EXPECT_FALSE(invocation.text.empty()) << line;
  return invocation.text;
}

TEST(Arguments, ThePidInEveryForm) {
  for (const char* line : {"dump 4711", "dump -p 4711", "dump -p4711", "dump --pid 4711", "dump --pid=4711",
                           "dump --json 4711", "dump 4711 --json", "dump -jp 4711", "dump -t 5 4711"})
    EXPECT_EQ(dump(line).pid, 4711u) << line;
}

TEST(Arguments, Defaults) {
  const DumpArguments arguments = dump("dump 1");
  EXPECT_EQ(arguments.options.walk.max_frames, 65536u);
  EXPECT_EQ(arguments.options.stop_timeout, std::chrono::milliseconds(20));
  EXPECT_TRUE(arguments.options.threads.empty());
  EXPECT_FALSE(arguments.json || arguments.shown.merge || arguments.shown.managed_only || arguments.shown.raw_names);
  EXPECT_FALSE(arguments.options.walk.explain || arguments.options.walk.keep_registers);
}

TEST(Arguments, ACoreInPlaceOfAPid) {
  const DumpArguments core = dump("dump --core core.1 --sysroot /a --sysroot /b --exe /bin/app --only-sysroot -t 5");
  EXPECT_EQ(core.core.path, "core.1");
  EXPECT_EQ(core.core.sysroots, (std::vector<std::string>{"/a", "/b"}));
  EXPECT_EQ(core.core.executable, "/bin/app");
  EXPECT_FALSE(core.core.use_own_files);
  EXPECT_EQ(core.pid, 0u);
  EXPECT_EQ(core.options.threads, std::vector<ThreadId>{5});
  EXPECT_TRUE(dump("dump -c - --json").core.use_own_files);
  EXPECT_EQ(dump("dump --core-of my.service").stored_core, "my.service");
  EXPECT_NE(usage_error("dump 4711 --core core.1").find("one of them"), std::string::npos);
  EXPECT_NE(usage_error("dump --core a --core-of b").find("one of them"), std::string::npos);
  EXPECT_NE(usage_error("dump 4711 --sysroot /a").find("--core FILE"), std::string::npos);
}

TEST(Arguments, ThreadsAreListedOnceEach) {
  const std::vector<ThreadId> expected = {5, 6};
  for (const char* line : {"dump 4711 -t 5 6", "dump 4711 -t 6 -t 5 -t 5", "dump 4711 --thread=5,6", "dump -t 5 6 4711",
                           "dump -t 5 6 -p 4711", "dump 4711 --threads 5 6 --json"})
    EXPECT_EQ(dump(line).options.threads, expected) << line;
}

TEST(Arguments, EveryFlagReachesItsOption) {
  const DumpArguments all = dump(
      "dump 1 --json --managed-only --frames --registers --explain --merge --raw-names --no-fold --no-lines "
      "--max-frames 7 "
      "--frame-budget 1000 "
      "--no-stop --stop-timeout 2s --color always");
  EXPECT_TRUE(all.no_stop);
  EXPECT_TRUE(all.json && all.shown.managed_only && all.shown.merge && all.shown.raw_names && !all.shown.fold);
  EXPECT_FALSE(all.runtime.lines);
  EXPECT_TRUE(all.options.walk.explicit_frames && all.options.walk.keep_registers && all.options.walk.explain);
  EXPECT_EQ(all.options.walk.max_frames, 7u);
  EXPECT_EQ(all.options.frame_budget, 1000u);
  EXPECT_EQ(all.options.stop_timeout, std::chrono::seconds(2));
  EXPECT_EQ(all.color, ColorMode::always);
}

TEST(Arguments, DataIsForArguments) {
  const DumpArguments both = dump("dump 1 --arguments --data");
  EXPECT_TRUE(both.options.arguments && both.options.data);
  EXPECT_FALSE(dump("dump 1 --arguments").options.data);
}

TEST(Arguments, TimesHaveUnits) {
  EXPECT_EQ(dump("dump 1 --stop-timeout 5m").options.stop_timeout, std::chrono::minutes(5));
  EXPECT_EQ(dump("dump 1 --stop-timeout 50").options.stop_timeout, std::chrono::milliseconds(50));
  EXPECT_EQ(dump("dump 1 --stop-timeout=50ms").options.stop_timeout, std::chrono::milliseconds(50));
  for (const char* bad : {"0", "-1", "5d", "", "169h", "99999999999999999999", "604801s"})
    usage_error(std::string("dump 1 --stop-timeout=") + bad);
}

TEST(Arguments, WrongLinesSayWhatIsWrong) {
  for (const char* line : {"",
                           "dumb 1",
                           "dump",
                           "dump x",
                           "dump 0",
                           "dump -5",
                           "dump 99999999999",
                           "dump 1 x",
                           "dump 1 2 -t 3",
                           "dump --core x --no-stop",
                           "dump 1 -n a",
                           "dump -n a --core c",
                           "ps 3",
                           "doctor x",
                           "dump 1 -m --tree",
                           "dump 1 -j --tree",
                           "dump 1 --arguments --merge",
                           "dump 1 --arguments --tree",
                           "dump 1 --arguments --no-stop",
                           "dump 1 --data",
                           "dump 1 -p 2",
                           "dump 1 -t",
                           "dump 1 -t x",
                           "dump 1 --max-frames 0",
                           "dump 1 --frame-budget 0",
                           "dump 1 --color blue",
                           "dump 1 --no-such-option"})
    usage_error(line);
  EXPECT_NE(usage_error("dump 4711x").find("'4711x' is not a pid"), std::string::npos);
}

TEST(Arguments, ProcessesByNumberAndByName) {
  EXPECT_EQ(parse("4711").dump.pid, 4711u);
  EXPECT_TRUE(parse("4711 --merge").dump.shown.merge);
  EXPECT_EQ(parse("dump 1 2 3").dump.more_pids, (std::vector<std::uint32_t>{2, 3}));
  EXPECT_EQ(parse("dump -t 12 13 4711").dump.pid, 4711u);
  EXPECT_EQ(parse("dump -n web").dump.name, "web");
  EXPECT_EQ(parse("ps -n web -j").action, Action::ps);
  EXPECT_TRUE(parse("ps -n web -j").ps.json);
  EXPECT_EQ(parse("doctor 12").doctor.pid, 12u);
  EXPECT_EQ(parse("doctor").action, Action::doctor);
}

TEST(Arguments, ADumpNeedsNoCommand) {
  EXPECT_EQ(dump("-n web").name, "web");
  EXPECT_EQ(dump("--name=web --tree").name, "web");
  EXPECT_TRUE(dump("--merge 4711").shown.merge);
  EXPECT_EQ(dump("--merge 4711").pid, 4711u);
  EXPECT_EQ(dump("-t 12 13 4711").options.threads, (std::vector<ThreadId>{12, 13}));
  EXPECT_EQ(dump("--core core.1").core.path, "core.1");
  for (const char* line : {"--merge", "-n", "-x", "--merge x", "-5", "--"}) usage_error(line);
  EXPECT_NE(usage_error("--mrge 1").find("Did you mean '--merge'?"), std::string::npos);
  EXPECT_NE(usage_error("--verison").find("Did you mean '--version'?"), std::string::npos);
}

TEST(Arguments, WhatIsWrongBeginsWithNoNameOfOurs) {
  for (const char* line : {"pack 12", "pack", "agent", "agent start 7", "symbols", "symbols get 7"})
    EXPECT_EQ(usage_error(line).find("mixstack"), std::string::npos) << "whoever prints it says that: " << line;
}

TEST(Arguments, WrongWordsGetTheNearestRightOne) {
  EXPECT_NE(usage_error("dmup 1").find("Did you mean 'dump'?"), std::string::npos);
  EXPECT_NE(usage_error("dump 1 --manged-only").find("Did you mean '--managed-only'?"), std::string::npos);
  EXPECT_EQ(usage_error("qqqqqq 1").find("Did you mean"), std::string::npos);
}

TEST(Arguments, HelpAndVersionArePrinted) {
  for (const char* line : {"--help", "-h", "help", "dump --help", "dump -h", "dump 1 -h", "--version", "-V"})
    EXPECT_EQ(parse(line).action, Action::print) << line;
}

TEST(Arguments, SymbolsAreOfAProcessACoreOrARecording) {
  const auto recording = parse("symbols fetch day.mxr --symbol-path /x --timeout 5s");
  ASSERT_EQ(recording.action, Action::symbols) << recording.text;
  EXPECT_EQ(recording.symbols.recording, "day.mxr");
  EXPECT_EQ(recording.symbols.of.pid, 0u);
  EXPECT_EQ(recording.symbols.timeout, std::chrono::seconds(5));
  const auto process = parse("symbols status 12");
  EXPECT_EQ(process.symbols.of.pid, 12u);
  EXPECT_EQ(process.symbols.recording, "");
  for (const char* line : {"symbols status day.mxr --core x", "symbols status day.mxr -p 12", "symbols status day.txt"})
    usage_error(line);
}

TEST(Arguments, APackIsOfAProcessOrACore) {
  const auto process = parse("pack 12 -o x --full --with-environment --with-command-line -f");
  ASSERT_EQ(process.action, Action::pack);
  EXPECT_EQ(process.pack.pid, 12u);
  EXPECT_EQ(process.pack.out, "x");
  EXPECT_TRUE(process.pack.full && process.pack.with_environment && process.pack.with_command_line &&
              process.pack.force);
  const auto core = parse("pack dir/core.1 -o - --sysroot a --only-sysroot");
  ASSERT_EQ(core.action, Action::pack);
  EXPECT_EQ(core.pack.pid, 0u);
  EXPECT_EQ(core.pack.core.path, "dir/core.1");
  EXPECT_FALSE(core.pack.core.use_own_files);
  EXPECT_FALSE(core.pack.full || core.pack.force);
  EXPECT_EQ(parse("pack --core 12 -o x").pack.core.path, "12") << "a file that is called so";
  for (const char* bad : {"pack", "pack 12", "pack -o x", "pack 12 -o x --core y", "pack 12 -o x --sysroot a"})
    EXPECT_EQ(parse(bad).action, Action::usage_error) << bad;
}

TEST(Arguments, AgentVerbs) {
  using Verb = AgentArguments::Verb;
  const auto record =
      parse_arguments({"agent", "record", "7", "-d", "5", "--wall", "20", "-o", "a.txt", "--format=json"});
  ASSERT_EQ(record.action, Invocation::Action::agent) << record.text;
  EXPECT_EQ(record.agent.verb, Verb::record);
  EXPECT_EQ(record.agent.pid, 7u);
  EXPECT_EQ(record.agent.duration, std::chrono::seconds(5));
  EXPECT_EQ(record.agent.wall_hertz, 20u);
  EXPECT_EQ(record.agent.cpu_hertz, 0u) << "only what was asked for";
  EXPECT_TRUE(record.agent.json);
  EXPECT_EQ(parse_arguments({"agent", "record", "7"}).agent.cpu_hertz, 100u);
  EXPECT_EQ(parse_arguments({"agent", "attach", "7"}).agent.cpu_hertz, 0u) << "nobody would see the samples";
  EXPECT_EQ(parse_arguments({"agent", "attach", "7", "--out", "x"}).agent.cpu_hertz, 100u);
  EXPECT_EQ(parse_arguments({"agent", "record", "7", "--timeout", "500ms"}).agent.timeout,
            std::chrono::milliseconds(500));
  EXPECT_EQ(parse_arguments({"agent", "status", "7", "--json"}).agent.verb, Verb::status);
  EXPECT_EQ(parse_arguments({"agent", "stop", "7"}).agent.verb, Verb::stop);
  EXPECT_EQ(parse_arguments({"agent", "--help"}).action, Invocation::Action::print);
  EXPECT_EQ(parse_arguments({"agent", "stop", "--help"}).action, Invocation::Action::print);
}

TEST(Arguments, AgentUsageErrors) {
  const std::vector<std::vector<std::string>> lines = {{"agent"},
                                                       {"agent", "start", "7"},
                                                       {"agent", "attach"},
                                                       {"agent", "status", "x"},
                                                       {"agent", "status", "0"},
                                                       {"agent", "stop", "7", "8"},
                                                       {"agent", "stop", "7", "--hz", "5"},
                                                       {"agent", "attach", "7", "--hz", "10001"},
                                                       {"agent", "record", "7", "--hz", "0"},
                                                       {"agent", "record", "7", "--wall", "-1"},
                                                       {"agent", "record", "7", "-d", "x"},
                                                       {"agent", "record", "7", "--format", "pprof"},
                                                       {"agent", "attach", "7", "--duration", "3"},
                                                       {"agent", "attach", "7", "--out", "a\nMIXSTACK_DEBUG=1"}};
  for (const auto& line : lines) {
    const auto invocation = parse_arguments(line);
    EXPECT_EQ(invocation.action, Invocation::Action::usage_error) << line.back();
    EXPECT_FALSE(invocation.text.empty());
  }
}

}  // namespace
}  // namespace mixstack::cli
