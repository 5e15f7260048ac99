// What people read follows the width of their terminal, and what programs read stays in one line.
#include <algorithm>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "program.h"
#include "terminal.h"

namespace fodp {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(Commands, HelpFollowsTheTerminal) {
  for (const char* words : {"account --help", "calibrate --help", "help", "completion --help"})
    for (unsigned short columns : {40, 60, 80, 120}) {
      Terminal terminal(folder_, words, columns);
      EXPECT_EQ(terminal.finish(), 0);
      EXPECT_LE(longest_line(terminal.shown()), columns) << terminal.shown();
      EXPECT_TRUE(columns > 60 || longest_line(terminal.shown()) > columns - 20u) << terminal.shown();
    }
  Terminal wide(folder_, "account --help", 200);
  wide.finish();
  EXPECT_GT(longest_line(wide.shown()), 180u);
}

TEST_F(Commands, WithoutATerminalTextHasAHundredColumnsOrThoseAskedFor) {
  const std::size_t usual = longest_line(fodp("account --help").out);
  EXPECT_LE(usual, 100u);
  EXPECT_GT(usual, 90u);
  const std::string program = "'" FODP_BINARY_DIR "/fodp' account --help >'" + (folder_ / "out.txt").string() + "'";
  for (const auto& [columns, low, high] : std::vector<std::tuple<std::string, std::size_t, std::size_t>>{
           {"60", 50, 60}, {"5", 35, 42}, {"many", 90, 100}, {"0", 90, 100}, {"", 90, 100}}) {
    ASSERT_EQ(std::system(("COLUMNS=" + columns + " " + program).c_str()), 0);
    const std::size_t longest = longest_line(content(folder_ / "out.txt"));
    EXPECT_GT(longest, low) << columns;
    EXPECT_LE(longest, high) << columns;
  }
}

TEST_F(Commands, WhatIsBrokenOffStandsUnderItsColumn) {
  std::istringstream lines(fodp("account --help").out);
  std::string before;
  bool broken = false;
  for (std::string line; std::getline(lines, line); before = line) {
    const std::size_t first = line.find_first_not_of(' ');
    if (!before.starts_with("  --") || first == std::string::npos || first < 6) continue;
    broken = true;
    EXPECT_EQ(before.find_first_not_of(' ', before.find("  ", 4)), first) << before << "\n" << line;
  }
  EXPECT_TRUE(broken);
}

TEST_F(Commands, MessagesAreFittedOnATerminalAndOneLineInALog) {
  const std::string words = "account --sample-rate 1.5 --noise-multiplier 1 --steps 10 --delta 1e-5 --accountant nothing-that-is-known";
  const std::string log = fodp(words).err;
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1) << log;
  Terminal terminal(folder_, "nothing-that-is-known-to-be-a-command", 50);
  EXPECT_EQ(terminal.finish(), 2);
  EXPECT_LE(longest_line(terminal.shown()), 50u) << terminal.shown();
  EXPECT_THAT(terminal.shown(), HasSubstr("calibrate"));
}

TEST_F(Commands, HelpIsAskedForInMoreThanOneWay) {
  EXPECT_EQ(fodp("help account").out, fodp("account --help").out);
  EXPECT_EQ(fodp("account -h").out, fodp("account --help").out);
  EXPECT_EQ(fodp("help").out, fodp("").out);
  EXPECT_EQ(fodp("help").out, fodp("--help").out);
  EXPECT_THAT(fodp("help").out, HasSubstr("completion"));
  const Outcome unknown = fodp("help acount");
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.err, HasSubstr("did you mean 'account'?"));
}

TEST_F(Commands, TheVersionIsAskedForInTwoWays) {
  EXPECT_THAT(fodp("--version").out, ::testing::MatchesRegex("fodp [0-9]+\\.[0-9]+\\.[0-9]+\n"));
  EXPECT_EQ(fodp("-v").out, fodp("--version").out);
}

TEST_F(Commands, NamesAreSuggestedWhateverTheirCase) {
  EXPECT_THAT(fodp("ACCOUNT").err, HasSubstr("did you mean 'account'?"));
  EXPECT_THAT(fodp("account --Delta 1e-5").err, HasSubstr("did you mean '--delta'?"));
  EXPECT_THAT(fodp("account --accountant PLD").err, HasSubstr("did you mean 'pld'?"));
}

}  // namespace
}  // namespace fodp
