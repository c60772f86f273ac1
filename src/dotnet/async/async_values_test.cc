#include "dotnet/async/async_values.h"

#include <gtest/gtest.h>

namespace mixstack::dotnet::objects {
namespace {

TEST(AsyncValues, VariablesOfFields) {
  EXPECT_EQ(variable_of_field("order"), "order");
  EXPECT_EQ(variable_of_field("<name>5__2"), "name");
  EXPECT_EQ(variable_of_field("<>4__this"), "this");
  for (const char* own : {"<>1__state", "<>t__builder", "<>u__1", "<>7__wrap3", "<>s__4", "<", "<x", "<>5__1", ""})
    EXPECT_EQ(variable_of_field(own), "") << own;
}

}  // namespace
}  // namespace mixstack::dotnet::objects
