#include "features/machine/named_programs.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/system/proc_mount.h"
#include "features/machine/explained_opening.h"

namespace mixstack::machine {
namespace {

RunningPrograms three() {
  RunningPrograms found;
  for (const char* name : {"orders", "orders", "shop\x1b[2J"}) {
    RunningProgram program;
    program.pid = static_cast<std::uint32_t>(4711 + found.programs.size());
    program.comm = name;
    found.programs.push_back(program);
  }
  return found;
}

TEST(NamedPrograms, AllOfTheName) {
  EXPECT_EQ(pids_called("orders", three()), (std::vector<std::uint32_t>{4711, 4712}));
  EXPECT_TRUE(pids_called("order", three()).empty());
}

TEST(NamedPrograms, TheOthersAreNamedOnceAndEscaped) {
  const std::string text = nobody_called_text("x\x1b", three());
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find("orders"), text.rfind("orders"));
  EXPECT_NE(text.find("shop"), std::string::npos);
  EXPECT_EQ(text.back(), '\n');
}

TEST(NamedPrograms, AForeignProcHasARemedy) {
  EXPECT_NE(no_list_text(base::other_pid_namespace_error()).find("nsenter"), std::string::npos);
  EXPECT_NE(no_list_text({ErrorCode::io_error, 0, 2}), no_list_text(base::other_pid_namespace_error()));
}

TEST(ExplainedOpening, WhatCanBeForeseenIsNotTried) {
  bool is_tried = false;
  const auto opened = open_explained(static_cast<std::uint32_t>(::getpid()), [&](std::uint32_t) {
    is_tried = true;
    return Result<std::unique_ptr<Session>>(fail(ErrorCode::internal));
  });
  ASSERT_FALSE(opened);
  EXPECT_FALSE(is_tried);
  EXPECT_EQ(opened.error().problem, Problem::is_self);
  EXPECT_EQ(opened.error().error.code, ErrorCode::none);
}

TEST(ExplainedOpening, AnErrorIsExplained) {
  const auto opened = open_explained(
      1, [](std::uint32_t) { return Result<std::unique_ptr<Session>>(fail(ErrorCode::process_changed)); });
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().words, "");
  EXPECT_TRUE(has_gone({ErrorCode::no_such_process, 0, 0}, 0x7fffffff));
  EXPECT_FALSE(is_thread(static_cast<std::uint32_t>(::getpid())));
}

}  // namespace
}  // namespace mixstack::machine
