#include "dotnet/names/generated_names.h"

#include <gtest/gtest.h>

#include <string>

#include "dotnet/names/csharp_format.h"

namespace mixstack::dotnet::names {
namespace {

TEST(GeneratedNames, Lambdas) {
  const GeneratedName vb = parse_generated("VB$StateMachine_3_Load");
  EXPECT_EQ(vb.kind, GeneratedKind::state_machine);
  EXPECT_EQ(vb.source, "Load");
  EXPECT_EQ(parse_generated("VB$StateMachine_3_Load`1").source, "Load");
  EXPECT_EQ(parse_generated("VB$StateMachine_").kind, GeneratedKind::none);
  EXPECT_EQ(parse_generated("Value").kind, GeneratedKind::none);
  const GeneratedName g = parse_generated("<Main>b__0_12");
  EXPECT_EQ(g.kind, GeneratedKind::lambda);
  EXPECT_EQ(g.source, "Main");
  EXPECT_EQ(g.ordinal, 12u);
  EXPECT_EQ(parse_generated("<.ctor>b__1_0").source, ".ctor");
  EXPECT_EQ(parse_generated("<<Main>$>b__0").source, "<Main>$");
}

TEST(GeneratedNames, LocalFunctions) {
  EXPECT_EQ(parse_generated("<Main>g__Local|0_1").own, "Local");
  EXPECT_EQ(parse_generated("<Main>g__Odd__name|3_14").own, "Odd__name");
  EXPECT_EQ(parse_generated("<Main>g__Old0_1").own, "Old");  // before the bar was introduced
}

TEST(GeneratedNames, Classes) {
  EXPECT_EQ(parse_generated("<>c").kind, GeneratedKind::closure);
  EXPECT_EQ(parse_generated("<>c__DisplayClass0_0").kind, GeneratedKind::closure);
  EXPECT_EQ(parse_generated("<>c__3`1").kind, GeneratedKind::closure);
  EXPECT_EQ(parse_generated("<Run>d__0`1").kind, GeneratedKind::state_machine);
  const GeneratedName nested = parse_generated("<<Main>b__0_7>d");
  EXPECT_EQ(nested.kind, GeneratedKind::state_machine);
  EXPECT_EQ(nested.source, "<Main>b__0_7");
}

TEST(GeneratedNames, OthersAreLeftAlone) {
  EXPECT_EQ(parse_generated("Main").kind, GeneratedKind::none);
  EXPECT_EQ(parse_generated("").kind, GeneratedKind::none);
  EXPECT_EQ(parse_generated("<").kind, GeneratedKind::none);
  EXPECT_EQ(parse_generated("<Main").kind, GeneratedKind::none);
  EXPECT_EQ(parse_generated("<>f__AnonymousType0`2").kind, GeneratedKind::other);
  EXPECT_EQ(parse_generated("<Clone>$").kind, GeneratedKind::other);
  EXPECT_EQ(parse_generated("<PrivateImplementationDetails>").kind, GeneratedKind::other);
  EXPECT_EQ(parse_generated("<Main>$").kind, GeneratedKind::top_level);
  EXPECT_EQ(parse_generated("<Main>").kind, GeneratedKind::top_level);
}

TEST(GeneratedNames, Arity) {
  EXPECT_EQ(split_arity("List`1").name, "List");
  EXPECT_EQ(split_arity("List`12").count, 12u);
  EXPECT_EQ(split_arity("List`").name, "List`");
  EXPECT_EQ(split_arity("List`x").name, "List`x");
  EXPECT_EQ(split_arity("List`99999999999").count, 0u);
}

TEST(GeneratedNames, FileLocalTypes) {
  const std::string hash(64, 'A');
  EXPECT_EQ(without_file_prefix("<Program>F" + hash + "__Helper"), "Helper");
  EXPECT_EQ(without_file_prefix("<Program>F__Helper"), "<Program>F__Helper");
  EXPECT_EQ(without_file_prefix("Helper"), "Helper");
}

TEST(GeneratedNames, ExplicitImplementations) {
  const ExplicitName e = split_explicit("System.IEquatable<System.Int32>.Equals");
  EXPECT_EQ(e.interface_name, "System.IEquatable<System.Int32>");
  EXPECT_EQ(e.member, "Equals");
  EXPECT_EQ(split_explicit(".ctor").interface_name, "");
  EXPECT_EQ(split_explicit("Plain").member, "Plain");
  EXPECT_EQ(split_explicit("A.B<C.D>").interface_name, "A");
}

TEST(GeneratedNames, InterfacesAreShortened) {
  const auto shortened = [](std::string_view name) {
    BoundedText out(1000);
    append_short_interface(out, name);
    return std::string(out.text());
  };
  EXPECT_EQ(shortened("System.IEquatable<System.Int32>"), "IEquatable<int>");
  EXPECT_EQ(shortened("A.IMap<System.String,B.C[]>"), "IMap<string, C[]>");
  EXPECT_EQ(shortened("IFoo"), "IFoo");
}

}  // namespace
}  // namespace mixstack::dotnet::names
