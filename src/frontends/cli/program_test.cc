#include "frontends/cli/program.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/system/scoped_fd.h"
#include "frontends/cli/version.h"
#include "support/sample_dump.h"

namespace mixstack::cli {
namespace {

/// A session that answers what it is told: the command's own behaviour is under test here.
class ScriptedSession final : public Session {
 public:
  explicit ScriptedSession(Result<ProcessDump> answer) : answer_(std::move(answer)) {}
  Target& target() override { std::abort(); }
  Result<ProcessDump> dump(const DumpOptions&) override { return answer_; }
  Result<Capture> capture(const DumpOptions&) override { return fail(ErrorCode::unsupported); }
  Result<Walker> walker(Capture, const WalkOptions&) override { return fail(ErrorCode::unsupported); }
  StepperChain& steppers() override { return steppers_; }
  void add_name_provider(std::shared_ptr<NameProvider>) override {}
  Result<void> refresh() override { return {}; }
  void set_runtime_options(const RuntimeOptions&) override {}
  void set_symbol_options(const SymbolOptions&) override {}

 private:
  Result<ProcessDump> answer_;
  StepperChain steppers_;
};

std::string content(const base::ScopedFd& fd) {
  std::string text(static_cast<std::size_t>(lseek(fd.get(), 0, SEEK_END)), '\0');
  EXPECT_EQ(pread(fd.get(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  return text;
}

struct Outcome {
  int exit_code;
  std::string out, err;
};

Outcome run(std::vector<std::string> arguments, Environment environment) {
  const base::ScopedFd out(memfd_create("out", MFD_CLOEXEC)), err(memfd_create("err", MFD_CLOEXEC));
  if (environment.out == 1) environment.out = out.get();
  environment.err = err.get();
  const int code = run_program(std::move(arguments), environment);
  return {code, content(out), content(err)};
}

Environment opens(Result<ProcessDump> answer) {
  Environment environment;
  environment.open_process = [answer](std::uint32_t) -> Result<std::unique_ptr<Session>> {
    return std::make_unique<ScriptedSession>(answer);
  };
  return environment;
}

Environment refuses(const Error& error) {
  Environment environment;
  environment.open_process = [error](std::uint32_t) -> Result<std::unique_ptr<Session>> { return fail(error); };
  return environment;
}

/// A child that sleeps until it is destroyed: a process that may be asked about.
class Child {
 public:
  Child() : pid_(fork()) {
    if (pid_ == 0) {
      pause();
      _exit(0);
    }
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    kill();
    waitpid(pid_, nullptr, 0);
  }
  void kill() const { ::kill(pid_, SIGKILL); }
  void wait_until_zombie() const {
    siginfo_t info;
    waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT);
  }
  [[nodiscard]] std::string pid() const { return std::to_string(pid_); }

 private:
  pid_t pid_;
};

ProcessDump complete_dump() {
  ProcessDump dump = testing::sample_dump();
  dump.threads.resize(1);
  dump.diagnoses.clear();
  return dump;
}

TEST(Program, CompleteDump) {
  const Child child;
  const Outcome outcome = run({"dump", child.pid()}, opens(complete_dump()));
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "");
  EXPECT_NE(outcome.out.find("System.Threading.Monitor.Wait"), std::string::npos);
}

TEST(Program, PartialDumpIsPrintedAndSaysSo) {
  const Child child;
  const Outcome outcome = run({"dump", child.pid(), "--json"}, opens(testing::sample_dump()));
  EXPECT_EQ(outcome.exit_code, 7);
  EXPECT_EQ(nlohmann::json::parse(outcome.out).at("threads").size(), 4u);
}

TEST(Program, AThreadThatIsNotThereIsNamed) {
  const Child child;
  const Outcome outcome = run({"dump", child.pid(), "-t", "4711", "99"}, opens(complete_dump()));
  EXPECT_EQ(outcome.exit_code, 7);
  EXPECT_NE(outcome.err.find("has no thread 99"), std::string::npos);
  EXPECT_EQ(outcome.err.find("has no thread 4711"), std::string::npos);
}

TEST(Program, EachRefusalHasItsExitCode) {
  const Child child;
  const std::pair<ErrorCode, int> expected[] = {{ErrorCode::no_such_process, 3}, {ErrorCode::permission_denied, 4},
                                                {ErrorCode::already_traced, 5},  {ErrorCode::unsupported_cpu, 6},
                                                {ErrorCode::process_changed, 8}, {ErrorCode::internal, 1}};
  for (const auto& [code, exit_code] : expected) {
    const Outcome refused = run({"dump", child.pid()}, refuses({code, 0, 0}));
    EXPECT_EQ(refused.exit_code, exit_code);
    EXPECT_NE(refused.err.find(child.pid()), std::string::npos) << refused.err;
    EXPECT_EQ(run({"dump", child.pid()}, opens(fail(code))).exit_code, exit_code);
  }
}

TEST(Program, MessagesAreJsonForWhoWantsIt) {
  const Child child;
  Environment environment = refuses({ErrorCode::process_changed, 0, 0});
  environment.json_messages = true;
  auto message = nlohmann::json::parse(run({"dump", child.pid()}, environment).err);
  EXPECT_EQ(message["code"], "process_changed");
  EXPECT_EQ(message["exit_code"], 8);
  EXPECT_TRUE(message["reason"].is_null());
  EXPECT_TRUE(message["text"].get<std::string>().starts_with("pid " + child.pid()));
  message = nlohmann::json::parse(run({"dump", "--core", "/nowhere/core"}, environment).err);
  EXPECT_EQ(message["code"], "not_found");
  EXPECT_EQ(message["os_error"], ENOENT);
  message = nlohmann::json::parse(run({"no-such-command"}, environment).err);
  EXPECT_EQ(message["code"], "usage");
}

TEST(Program, UsageErrorsPointToTheHelpOfTheirCommand) {
  const auto said = [](std::vector<std::string> arguments) {
    const Outcome outcome = run(std::move(arguments), Environment());
    EXPECT_EQ(outcome.exit_code, 2);
    return outcome.err.substr(outcome.err.find("Try"));
  };
  EXPECT_EQ(said({"record"}), "Try 'mixstack record --help'.\n");
  EXPECT_EQ(said({"convert", "a.mxr", "--nothing"}), "Try 'mixstack convert --help'.\n");
  EXPECT_EQ(said({"symbols", "x"}), "Try 'mixstack symbols --help'.\n");
  EXPECT_EQ(said({"nothing"}), "Try 'mixstack --help'.\n");
}

TEST(Program, WhatCannotBeDumpedIsSaidWithoutTrying) {
  Environment environment;
  environment.open_process = [](std::uint32_t) -> Result<std::unique_ptr<Session>> {
    ADD_FAILURE() << "tried all the same";
    return fail(ErrorCode::internal);
  };
  EXPECT_EQ(run({"dump", "2147483647"}, environment).exit_code, 3);
  EXPECT_EQ(run({"dump", std::to_string(getpid())}, environment).exit_code, 6);
  const Child child;
  child.kill();
  child.wait_until_zombie();
  const Outcome zombie = run({"dump", child.pid()}, environment);
  EXPECT_EQ(zombie.exit_code, 6);
  EXPECT_NE(zombie.err.find("zombie"), std::string::npos);
}

TEST(Program, AFullDiskIsReported) {
  const Child child;
  const base::ScopedFd full(open("/dev/full", O_WRONLY | O_CLOEXEC));
  Environment environment = opens(complete_dump());
  environment.out = full.get();
  const Outcome outcome = run({"dump", child.pid()}, environment);
  EXPECT_EQ(outcome.exit_code, 9);
  EXPECT_NE(outcome.err.find("No space left on device"), std::string::npos);
}

TEST(Program, AFolderOfTheSymbolPathThatIsNotThereIsSaidOnce) {
  const Child child, other;
  const std::string path = "/;/dev/null;http://127.0.0.1:1";
  for (const char* command : {"dump", "symbols"}) {
    std::vector<std::string> line = {command, child.pid(), "--symbol-path", path};
    line.insert(line.begin() + 1, std::string(command) == "dump" ? other.pid() : "status");
    const Outcome outcome = run(line, opens(complete_dump()));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "mixstack: warning: symbol path: /dev/null: Not a directory\n")
        << command << ": / is there, and the server is none";
  }
  const Outcome gone = run({"dump", child.pid(), "-j", "--symbol-path", "/no/such/folder"}, opens(complete_dump()));
  EXPECT_EQ(gone.err, "mixstack: warning: symbol path: /no/such/folder: No such file or directory\n");
  EXPECT_TRUE(nlohmann::json::accept(gone.out));
  EXPECT_EQ(run({"dump", child.pid()}, opens(complete_dump())).err, "");
}

TEST(Program, FoldedStacksAreConvertedByThisVersionAndWhatWasLostIsSaid) {
  const std::string path = ::testing::TempDir() + "program_test.folded";
  std::ofstream(path) << "main;work 5000000000000\n";
  const Outcome converted = run({"convert", path, "-f", "speedscope"}, Environment());
  EXPECT_EQ(converted.exit_code, 0);
  EXPECT_TRUE(converted.err.starts_with("mixstack: " + path + ": counts were divided by 10000")) << converted.err;
  const auto document = nlohmann::json::parse(converted.out);
  EXPECT_EQ(document.at("exporter"), "mixstack " + std::string(version_number()));
  EXPECT_EQ(document.at("name"), "program_test.folded");
  for (const char* const command : {"convert", "diff"}) {
    std::vector<std::string> line{command, path};
    if (line[0] == "diff") line.push_back(path);
    EXPECT_NE(run(line, Environment()).err, "") << command;
    line.emplace_back("-q");
    const Outcome quiet = run(line, Environment());
    EXPECT_EQ(quiet.exit_code, 0) << command;
    EXPECT_EQ(quiet.err, "") << command;
    EXPECT_NE(quiet.out.find("counts were divided"), std::string::npos) << command;
  }
  std::remove(path.c_str());
}

TEST(Program, UsageErrorsGoToStandardError) {
  const Outcome outcome = run({"dump", "x"}, {});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(outcome.err.find("'x' is not a pid"), std::string::npos);
}

TEST(Program, ColoursOnlyWhenAsked) {
  const Child child;
  EXPECT_EQ(run({"dump", child.pid()}, opens(complete_dump())).out.find("\x1b"), std::string::npos);
  EXPECT_NE(run({"dump", child.pid(), "--color=always"}, opens(complete_dump())).out.find("\x1b[32m"),
            std::string::npos);
}

}  // namespace
}  // namespace mixstack::cli
