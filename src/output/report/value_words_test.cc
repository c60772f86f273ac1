#include "output/report/value_words.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace mixstack::report {
namespace {

ProgramValue told(std::string name, std::string type, std::string text) {
  ProgramValue value;
  value.name = std::move(name);
  value.type = std::move(type);
  value.text = std::move(text);
  value.state = ValueState::told;
  return value;
}

ProgramValue object(std::string name, std::string type, Address address) {
  ProgramValue value = told(std::move(name), std::move(type), "");
  value.object = address;
  return value;
}

std::string json(const ProgramValue& value) {
  std::string text;
  Writer writer([&text](std::string_view piece) { text += piece; });
  write_value_json(writer, value);
  writer.flush();
  return text;
}

TEST(ValueWords, OfEachKind) {
  EXPECT_EQ(value_words(told("count", "int", "3")), "count: int = 3");
  EXPECT_EQ(value_words(told("point", "Shop.Point", "{X = 1, Y = 2}")), "point: Shop.Point = {X = 1, Y = 2}");
  EXPECT_EQ(value_words(told("large", "Shop.Large", "")), "large: Shop.Large");
  EXPECT_EQ(value_words(object("this", "Shop.Cart", 0x7f12)), "this: Shop.Cart 0x7f12");
  ProgramValue many = object("many", "int[]", 0x7f12);
  many.length = 1;
  EXPECT_EQ(value_words(many), "many: int[] 0x7f12 (1 item)");
  many.length = 3;
  EXPECT_EQ(value_words(many), "many: int[] 0x7f12 (3 items)");
  ProgramValue text = object("name", "string", 0x7f12);
  text.length = 12;
  EXPECT_EQ(value_words(text), "name: string 0x7f12 (12 characters)");
  text.content = "a\x1b[31mb";
  EXPECT_EQ(value_words(text), "name: string = \"a\\x1b[31mb\"");
  ProgramValue letter = told("letter", "char", "120");
  letter.content = "x";
  EXPECT_EQ(value_words(letter), "letter: char = 'x'");
}

TEST(ValueWords, WhatIsNotTold) {
  ProgramValue value;
  value.name = "total";
  value.type = "decimal";
  EXPECT_EQ(value_words(value), "total: decimal, not kept");
  value.state = ValueState::moved;
  EXPECT_EQ(value_words(value), "total: decimal, an object that may have moved meanwhile");
  value.state = ValueState::unread;
  EXPECT_EQ(value_words(value), "total: decimal, not readable");
  EXPECT_EQ(short_value_words(value), "not readable");
}

TEST(ValueWords, WithoutTheName) {
  EXPECT_EQ(short_value_words(told("count", "int", "3")), "3");
  EXPECT_EQ(short_value_words(object("this", "Shop.Cart", 0x7f12)), "Shop.Cart 0x7f12");
  EXPECT_EQ(short_value_words(told("large", "Shop.Large", "")), "Shop.Large");
}

TEST(ValueWords, AsJson) {
  ProgramValue text = object("name", "string", 0x7f12);
  text.length = 2;
  text.content = "\"\n";
  const auto parsed = nlohmann::json::parse(json(text));
  EXPECT_EQ(parsed["content"], "\"\n");
  EXPECT_EQ(parsed["object"], "0x7f12");
  EXPECT_EQ(parsed["length"], 2);
  EXPECT_EQ(parsed["state"], "told");
  EXPECT_TRUE(parsed["text"].is_null());
  EXPECT_TRUE(nlohmann::json::parse(json(told("count", "int", "3")))["content"].is_null());
}

}  // namespace
}  // namespace mixstack::report
