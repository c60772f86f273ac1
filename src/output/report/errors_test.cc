#include "output/report/errors.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <utility>

namespace mixstack::report {
namespace {

RefusalFacts healthy() {
  RefusalFacts facts;
  facts.pid = facts.thread_group = 4711;
  facts.exists = true;
  facts.comm = "dotnet";
  facts.state = 'S';
  facts.uid = facts.own_uid = 1000;
  facts.elf_bits = 64;
  facts.elf_machine = 62;
  return facts;
}

std::string permission_text(const RefusalFacts& facts) {
  const Error error{ErrorCode::permission_denied, 1, 0};
  EXPECT_EQ(problem_of(error, facts), Problem::permission);
  return problem_text(Problem::permission, error, facts);
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(Errors, AHealthyProcessHasNoForeseenProblem) { EXPECT_EQ(foreseen_problem(healthy()), Problem::none); }

TEST(Errors, WhatNoAttemptWouldSolveIsForeseen) {
  const auto with = [](auto change) {
    RefusalFacts facts = healthy();
    change(facts);
    return foreseen_problem(facts);
  };
  EXPECT_EQ(with([](auto& f) { f.exists = false; }), Problem::no_such_process);
  EXPECT_EQ(with([](auto& f) { f.exists = false, f.is_hidden = true; }), Problem::hidden);
  EXPECT_EQ(with([](auto& f) { f.exists = false, f.look_error = EMFILE; }), Problem::resources);
  EXPECT_EQ(with([](auto& f) { f.exists = false, f.look_error = ENOENT, f.proc_missing = true; }), Problem::no_proc);
  EXPECT_EQ(with([](auto& f) { f.proc_foreign = true; }), Problem::foreign_proc);
  EXPECT_EQ(with([](auto& f) { f.kernel_thread = true; }), Problem::kernel_thread);
  EXPECT_EQ(with([](auto& f) { f.thread_group = 4700; }), Problem::is_thread);
  EXPECT_EQ(with([](auto& f) { f.state = 'Z'; }), Problem::zombie);
  EXPECT_EQ(with([](auto& f) { f.tracer = 99; }), Problem::already_traced);
  EXPECT_EQ(with([](auto& f) { f.elf_bits = 32; }), Problem::unsupported_cpu);
  EXPECT_EQ(with([](auto& f) { f.elf_machine = 243; }), Problem::unsupported_cpu);
  EXPECT_EQ(with([](auto& f) { f.is_self = true; }), Problem::is_self);
}

TEST(Errors, ReasonsAreNamesForPrograms) {
  const Error denied{ErrorCode::permission_denied, 1, 0};
  const auto reason = [&denied](auto change) {
    RefusalFacts facts = healthy();
    change(facts);
    return problem_reason(Problem::permission, denied, facts);
  };
  EXPECT_EQ(reason([](auto&) {}), "unknown");
  EXPECT_EQ(reason([](auto& f) { f.seccomp = true; }), "seccomp");
  EXPECT_EQ(reason([](auto& f) { f.not_dumpable = true; }), "hides_itself");
  EXPECT_EQ(reason([](auto& f) { f.other_user_namespace = f.may_trace = true; }), "user_namespace");
  EXPECT_EQ(reason([](auto& f) { f.uid = 1; }), "other_user");
  EXPECT_EQ(reason([](auto& f) { f.yama = 1; }), "yama");
  EXPECT_EQ(reason([](auto& f) { f.yama = 3; }), "yama_off");
  for (const auto& [error, name] :
       {std::pair{EMFILE, "files"}, {ENFILE, "files_of_system"}, {EAGAIN, "threads"}, {ENOMEM, "memory"}})
    EXPECT_EQ(problem_reason(Problem::resources, {ErrorCode::io_error, error, 0}, healthy()), name);
  EXPECT_EQ(problem_reason(Problem::zombie, {}, healthy()), "");
}

TEST(Errors, PermissionSaysWhichCapabilityOrSwitchIsMissing) {
  RefusalFacts facts = healthy();
  EXPECT_TRUE(has(permission_text(facts), "does not hide itself"));
  facts.other_user_namespace = true;
  EXPECT_TRUE(has(permission_text(facts), "lives in another user namespace"));
  facts.other_user_namespace = false;
  facts.more_rights = true;
  EXPECT_TRUE(has(permission_text(facts), "capabilities that we lack"));
  facts.yama = 1;
  EXPECT_TRUE(has(permission_text(facts), "sysctl kernel.yama.ptrace_scope=0"));
  EXPECT_TRUE(has(permission_text(facts), "setcap cap_sys_ptrace+ep mixstack\n"));
  facts.not_dumpable = true;
  EXPECT_TRUE(has(permission_text(facts), "PR_SET_DUMPABLE"));
  EXPECT_TRUE(has(permission_text(facts), "setcap cap_sys_ptrace,cap_dac_read_search+ep mixstack\n"));
  facts.not_dumpable = false;
  facts.seccomp = true;
  EXPECT_TRUE(has(permission_text(facts), "A seccomp filter that we run under denies ptrace"));
  EXPECT_FALSE(has(permission_text(facts), "hides itself"));
  facts.seccomp = false;
  facts.yama = 3;
  EXPECT_TRUE(has(permission_text(facts), "until it is restarted"));
  facts.yama = 0;
  facts.uid = 0;
  EXPECT_TRUE(has(permission_text(facts), "belongs to uid 0, and we are uid 1000"));
  facts.capabilities = "cap_bpf,cap_sys_ptrace";
  EXPECT_TRUE(has(permission_text(facts), "setcap cap_bpf,cap_sys_ptrace,cap_dac_read_search+ep mixstack\n"));
  facts.may_trace = true;
  EXPECT_TRUE(has(permission_text(facts), "but not CAP_DAC_READ_SEARCH"));
  facts.may_read = true;
  EXPECT_TRUE(has(permission_text(facts), "security module"));
  facts.may_trace = false;
  facts.own_uid = 0;
  EXPECT_TRUE(has(permission_text(facts), "--cap-add=SYS_PTRACE"));
  facts.may_trace = true;
  EXPECT_TRUE(has(permission_text(facts), "security module"));
  facts.other_user_namespace = true;
  EXPECT_TRUE(has(permission_text(facts), "user namespace"));
}

TEST(Errors, HowManyFilesAreEnough) {
  RefusalFacts facts = healthy();
  const Error error{ErrorCode::io_error, EMFILE, 0};
  EXPECT_TRUE(has(problem_text(Problem::resources, error, facts), "ulimit -n; 64 are enough"));
  facts.enough_files = 3067;
  EXPECT_TRUE(has(problem_text(Problem::resources, error, facts), "ulimit -n; 3067 are enough"));
}

TEST(Errors, TheTracerIsNamed) {
  RefusalFacts facts = healthy();
  facts.tracer = 99;
  facts.tracer_comm = "gdb";
  EXPECT_TRUE(has(problem_text(Problem::already_traced, {}, facts), "already traced by pid 99 (gdb)"));
  facts.tracer = 0;
  facts.tracer_comm.clear();
  EXPECT_TRUE(has(problem_text(Problem::already_traced, {ErrorCode::already_traced, 1, 98}, facts), "by pid 98."));
}

TEST(Errors, EveryTextNamesTheProcessAndEndsTheLine) {
  for (unsigned i = 1; i <= static_cast<unsigned>(Problem::other); i++) {
    const auto problem = static_cast<Problem>(i);
    const std::string text = problem_text(problem, {ErrorCode::internal, 0, 0}, healthy());
    EXPECT_TRUE(text.ends_with('\n')) << i;
    if (problem != Problem::is_self) {
      EXPECT_TRUE(has(text, "4711")) << text;
    }
  }
}

TEST(Errors, NamesAreEscaped) {
  RefusalFacts facts = healthy();
  facts.comm = "\x1b[31m";
  EXPECT_FALSE(has(problem_text(Problem::zombie, {}, facts), "\x1b"));
}

}  // namespace
}  // namespace mixstack::report
