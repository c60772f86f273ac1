#include <gtest/gtest.h>

#include "mixstack/machine.h"

namespace mixstack {
namespace {

TEST(RunningProgramsTest, NamesOfAProgram) {
  RunningProgram program;
  program.comm = "dotnet";
  program.executable = "/usr/bin/dotnet";
  program.command_line = {"dotnet", "/srv/Shop.Web.dll", "other.dll"};
  for (const char* name : {"dotnet", "Shop.Web", "Shop.Web.dll"}) EXPECT_TRUE(program.is_called(name)) << name;
  for (const char* name : {"", "Shop", "other", "other.dll", "/srv/Shop.Web.dll"})
    EXPECT_FALSE(program.is_called(name)) << name;
}

}  // namespace
}  // namespace mixstack
