// Parser, help, completions and manual page have the same options.
#include "output/help/command_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "frontends/cli/arguments.h"
#include "frontends/cli/help.h"
#include "output/formats/format.h"
#include "output/help/completions.h"

namespace mixstack::cli {
namespace {

using help::CommandTable;
using help::TableCommand;
using help::TableLine;
using help::TableOption;
using help::ValueKind;

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream in(line);
  return {std::istream_iterator<std::string>(in), {}};
}

TEST(CommandTable, HasTheCommandsThatCanBeTyped) {
  std::set<std::string> typed, documented;
  for (const std::string& name : command_names())
    if (name != "help") typed.insert(name);
  for (const TableCommand& command : command_table().commands) documented.insert(command.name);
  EXPECT_EQ(typed, documented);
  for (const std::string& name : typed)
    EXPECT_EQ(parse_arguments({name, "--help"}).action, Invocation::Action::print) << name;
}

TEST(CommandTable, EveryOptionOfTheParserIsInTheHelp) {
  for (const TableCommand& command : command_table().commands)
    for (const TableLine& line : command.lines) {
      EXPECT_FALSE(line.options.empty()) << line.words << ": its help is printed without what the parser knows";
      for (const TableOption& option : line.options) {
        EXPECT_TRUE(option.is_documented) << line.words << " " << option.names.front();
        EXPECT_TRUE(option.is_positional || !option.description.empty()) << line.words << " " << option.names.front();
      }
    }
}

TEST(CommandTable, EveryOptionInTheHelpIsOneOfTheParser) {
  for (const TableCommand& command : command_table().commands) {
    std::set<std::string> known;
    for (const TableLine& line : command.lines)
      for (const TableOption& option : line.options) known.insert(option.names.begin(), option.names.end());
    for (const HelpBlock& block : command.help)
      for (const HelpEntry& entry : block.entries)
        for (const std::string& name : entry.names()) EXPECT_TRUE(known.contains(name)) << command.name << " " << name;
  }
}

TEST(CommandTable, CompletionsAndManualPageHaveEveryOption) {
  const CommandTable table = command_table();
  const std::string bash = help::bash_completions(table), zsh = help::zsh_completions(table),
                    fish = help::fish_completions(table);
  const std::string man = help::man_page(table);
  std::size_t options = 0;
  for (const TableCommand& command : table.commands)
    for (const TableLine& line : command.lines)
      for (const TableOption& option : line.options) {
        if (option.is_positional) continue;
        options++;
        for (const std::string& name : option.names) {
          EXPECT_NE(bash.find(" " + name), std::string::npos) << name;
          EXPECT_NE(zsh.find(name), std::string::npos) << name;
          const std::string of_fish = name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
          EXPECT_NE(fish.find(of_fish), std::string::npos) << name;
          std::string of_man = "\\fB";
          for (const char c : name) of_man += c == '-' ? "\\-" : std::string(1, c);
          EXPECT_NE(man.find(of_man + "\\fR"), std::string::npos) << name;
        }
      }
  EXPECT_GT(options, 40u);
}

TEST(CommandTable, WordsThatAreOfferedAreTaken) {
  std::size_t tried = 0;
  for (const TableCommand& command : command_table().commands)
    for (const TableLine& line : command.lines) {
      // As many as a command may need: "diff BEFORE AFTER".
      std::string positional;
      for (const TableOption& option : line.options)
        if (option.is_positional && option.kind != ValueKind::words) positional += " 1";
      for (const TableOption& option : line.options) {
        const std::string start = line.words + positional + " " + (option.is_positional ? "" : option.names.front());
        if (option.kind != ValueKind::words) continue;
        EXPECT_EQ(parse_arguments(words_of(start + " nonsense")).action, Invocation::Action::usage_error) << start;
        for (const std::string& word : option.words) {
          const Invocation taken = parse_arguments(words_of(start + " " + word));
          EXPECT_NE(taken.action, Invocation::Action::usage_error) << start << " " << word << ": " << taken.text;
          tried++;
        }
      }
    }
  EXPECT_GE(tried, 10u);
}

TEST(CommandTable, HelpNamesTheFormatsThatAreTaken) {
  for (std::size_t i = 0; i <= static_cast<std::size_t>(formats::kLastFormat); i++) {
    const std::string word(formats::word_of(static_cast<formats::Format>(i)));
    for (const HelpPage& page : {record_page(), convert_page()}) {
      const HelpEntry* format = help::find_entry(page.blocks, "--format");
      ASSERT_NE(format, nullptr);
      EXPECT_NE(format->description.find(word), std::string::npos) << word << " in " << format->description;
    }
  }
}

TEST(CommandTable, WhatStandsWhereAValueDoes) {
  const CommandTable table = command_table();
  const auto option = [&](const std::string& words, const std::string& name) {
    for (const TableCommand& command : table.commands)
      for (const TableLine& line : command.lines)
        for (const TableOption& one : line.options)
          if (line.words == words && std::find(one.names.begin(), one.names.end(), name) != one.names.end()) return one;
    return TableOption{};
  };
  EXPECT_EQ(option("dump", "PID").kind, ValueKind::process);
  EXPECT_EQ(option("dump", "--core").kind, ValueKind::file);
  EXPECT_EQ(option("dump", "--sysroot").kind, ValueKind::folder);
  EXPECT_TRUE(option("dump", "--sysroot").takes_many);
  EXPECT_EQ(option("dump", "--color").words, (std::vector<std::string>{"auto", "always", "never"}));
  EXPECT_EQ(option("dump", "--colour").kind, ValueKind::none) << "another spelling is not offered";
  EXPECT_EQ(option("dump", "--merge").kind, ValueKind::none);
  EXPECT_EQ(option("dump", "--wide").value, "");
  EXPECT_EQ(option("dump", "--stop-timeout").group, "Limits");
  EXPECT_EQ(option("agent record", "--duration").kind, ValueKind::anything);
  EXPECT_EQ(option("agent record", "--out").kind, ValueKind::file);
  EXPECT_TRUE(option("agent stop", "--out").names.empty()) << "not of this verb";
}

TEST(CommandTable, HelpAsJsonIsTheSameTable) {
  using Json = nlohmann::json;
  const CommandTable table = command_table();
  const Json all = Json::parse(parse_arguments({"--help", "--json"}).text);
  EXPECT_EQ(all["format"], "mixstack-help");
  ASSERT_EQ(all["commands"].size(), table.commands.size());
  for (std::size_t i = 0; i < table.commands.size(); i++) {
    const TableCommand& command = table.commands[i];
    const Json one = Json::parse(parse_arguments({command.name, "--json", "-h"}).text);
    ASSERT_EQ(one["commands"].size(), 1u) << command.name;
    EXPECT_EQ(one["commands"][0], all["commands"][i]);
    ASSERT_EQ(one["commands"][0]["lines"].size(), command.lines.size());
    std::size_t options = 0;
    for (const TableLine& line : command.lines) options += line.options.size();
    for (const Json& line : one["commands"][0]["lines"]) options -= line["options"].size() + line["arguments"].size();
    EXPECT_EQ(options, 0u) << command.name;
  }
  const Json record = Json::parse(help::help_json(table, "record"))["commands"][0]["lines"][0];
  const auto rate = std::find_if(record["options"].begin(), record["options"].end(),
                                 [](const Json& option) { return option["names"].back() == "--rate"; });
  ASSERT_NE(rate, record["options"].end());
  EXPECT_EQ((*rate)["names"], Json({"-r", "-F", "--rate"}));
  EXPECT_EQ((*rate)["value"], "N");
  EXPECT_EQ((*rate)["group"], "What is sampled");
  // Arguments of a program to start are its own.
  EXPECT_EQ(parse_arguments({"record", "--", "program", "--help", "--json"}).action, Invocation::Action::record);
}

TEST(HelpPage, IsWrittenInColumns) {
  const HelpPage page{"x",
                      19,
                      {prose("What it is."), usage({"prog x", "prog y"}),
                       options("Of what", {{"-a, --all", "N...", "one: two and more"},
                                           {"--a-long-name", "VALUE", "below"},
                                           {"--words", "",
                                            "so many words that they do not have room in one line of a page and go on "
                                            "in the next"}}),
                       table("Marks", "  M managed\n")}};
  EXPECT_EQ(help::help_text(page),
            "What it is.\n\nUsage: prog x\n       prog y\n\nOf what:\n"
            "  -a, --all N...   one: two and more\n"
            "      --a-long-name VALUE\n                   below\n"
            "      --words      so many words that they do not have room in one line of a\n"
            "                   page and go on in the next\n\nMarks:\n  M managed\n");
  const HelpEntry* entry = help::find_entry(page.blocks, "-a");
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->names(), (std::vector<std::string>{"-a", "--all"}));
  EXPECT_EQ(entry->value_word(), "N");
  EXPECT_EQ(help::brief({"", "", "one; two"}), "one");
  EXPECT_EQ(help::find_entry(page.blocks, "--none"), nullptr);
}

TEST(HelpPage, EveryPageFitsATerminal) {
  for (const std::string& command : command_names()) {
    std::istringstream text(parse_arguments({command, "--help"}).text);
    std::size_t lines = 0;
    for (std::string line; std::getline(text, line); lines++) EXPECT_LE(line.size(), 80u) << command << ": " << line;
    EXPECT_GT(lines, 5u) << command;
  }
}

}  // namespace
}  // namespace mixstack::cli
