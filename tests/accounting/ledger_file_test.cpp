#include "fodp/accounting/ledger_file.h"

#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "counting_accountant.h"
#include "fodp/accounting/events_json.h"

namespace fodp {
namespace {

using ::testing::HasSubstr;

class LedgerFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("fodp-ledger-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
    file_ = folder_ / "ledger";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static LedgerHeader header(const Events& plan = {{kStep, 100}, {kOther, 3}}) {
    return {.run = "r",
            .version = "1",
            .date = "today",
            .data_fingerprint = "f",
            .delta = 1e-5,
            .insecure = {},
            .rows = 9,
            .earlier = {},
            .plan = plan};
  }
  std::string content() const {
    std::ifstream stream(file_, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  void put(const std::string& bytes) const { std::ofstream(file_, std::ios::binary) << bytes; }
  static std::int64_t count(const Events& events, const Event& event) {
    std::int64_t total = 0;
    for (const Composed& part : events) total += part.event == event ? part.count : 0;
    return total;
  }

  std::filesystem::path folder_, file_;
};

TEST_F(LedgerFileTest, SaysAtLeastWhatWasChargedAtEveryMoment) {
  LedgerFile ledger(file_, header());
  EXPECT_EQ(read_ledger(file_).header, header());
  for (int i = 1; i <= 100; ++i) {
    ledger.charge(kStep);
    if (i % 40 == 0) ledger.charge(kOther);
    const Events charged = read_ledger(file_).charged;
    EXPECT_GE(count(charged, kStep), i);
    EXPECT_LE(count(charged, kStep), 100) << "no more is reserved than was planned";
    EXPECT_GE(count(charged, kOther), i / 40);
    EXPECT_EQ(charged, ledger.charged());
  }
  const std::string text = content();
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 15) << "charges are reserved in blocks";
}

TEST_F(LedgerFileTest, GivesBackWhatItDidNotUse) {
  LedgerFile ledger(file_, header());
  for (int i = 0; i < 10; ++i) ledger.charge(kStep);
  EXPECT_GT(count(read_ledger(file_).charged, kStep), 10);
  ledger.give_back();
  EXPECT_EQ(count(read_ledger(file_).charged, kStep), 10);
  ledger.charge(kStep);
  EXPECT_GE(count(read_ledger(file_).charged, kStep), 11);
}

TEST_F(LedgerFileTest, KnowsEventsThatWereNotPlanned) {
  const Event odd = Event::gaussian(.1 + .2, 1e-7);
  {
    LedgerFile ledger(file_, header(), {{kStep, 7}, {odd, 2}});
    EXPECT_EQ(ledger.charged(), (Events{{kStep, 7}, {odd, 2}}));
    ledger.charge(odd);
  }
  EXPECT_EQ(count(read_ledger(file_).charged, odd), 3);
  LedgerFile again = LedgerFile::open(file_, header());
  again.charge(odd);
  EXPECT_EQ(count(again.charged(), odd), 4);
  EXPECT_EQ(count(read_ledger(file_).guaranteed(), kStep), 100) << "a run that stops early costs its plan";
  EXPECT_EQ(count(read_ledger(file_).guaranteed(), odd), 4);
}

// Steps that are all unlike are reserved in blocks, too, and found again though the file writes them as a ramp.
TEST_F(LedgerFileTest, OfAScheduleGoesOn) {
  Events plan;
  for (int i = 0; i < 500; ++i) plan.push_back({Event::poisson_gaussian(.01, 1.3 - .4 * i / 499), 1});
  {
    LedgerFile ledger(file_, header(plan));
    for (int i = 0; i < 200; ++i) ledger.charge(plan[i].event);
    EXPECT_GE(total_count(ledger.charged()), 200);
  }
  const std::string text = content();
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 15);
  LedgerFile ledger = LedgerFile::open(file_, header(plan));
  const std::int64_t before = total_count(ledger.charged());
  for (std::int64_t i = before; i < 500; ++i) ledger.charge(plan[i].event);
  EXPECT_EQ(ledger.charged(), plan);
}

TEST_F(LedgerFileTest, ARunThatRepeatsItsReleasesUsesTheirChargesAgain) {
  {
    LedgerFile ledger(file_, header());
    for (int i = 0; i < 60; ++i) ledger.charge(kStep);
  }
  const std::int64_t before = count(read_ledger(file_).charged, kStep);
  LedgerFile ledger = LedgerFile::open(file_, header());
  ledger.repeat_from({{kStep, 50}});
  for (int i = 50; i < 60; ++i) ledger.charge(kStep);
  EXPECT_EQ(count(ledger.charged(), kStep), before);
  EXPECT_THROW(ledger.repeat_from({{kStep, 101}}), PrivacyError) << "the state knows of more than the ledger";
  EXPECT_THROW(ledger.repeat_from({{Event::gaussian(5), 1}}), PrivacyError);
}

TEST_F(LedgerFileTest, StepsThatAreDoneAgainArePlannedAgain) {
  {
    LedgerFile ledger(file_, header());
    for (int i = 0; i < 60; ++i) ledger.charge(kStep);
    ledger.give_back();
  }
  LedgerFile ledger = LedgerFile::open(file_, header());
  ledger.plan_rest({{kStep, 50}, {kOther, 1}});  // ten steps were lost, and two of the others are dropped
  const LedgerContent content = read_ledger(file_);
  EXPECT_EQ(content.header, header());
  EXPECT_EQ(content.planned, (Events{{kStep, 110}, {kOther, 1}}));
  EXPECT_EQ(content.guaranteed(), content.planned);
}

TEST_F(LedgerFileTest, ATornEndCountsUpward) {
  {
    LedgerFile ledger(file_, header());
    for (int i = 0; i < 20; ++i) ledger.charge(kStep);
  }
  const std::string whole = content();
  const std::int64_t all = count(read_ledger(file_).charged, kStep);
  const std::size_t last = whole.rfind("{\"reserve\"");
  for (std::size_t length = last + 1; length < whole.size(); length += 7) {
    put(whole.substr(0, length));
    const LedgerContent torn = read_ledger(file_);
    EXPECT_TRUE(torn.torn);
    EXPECT_GE(count(torn.charged, kStep), all);
    EXPECT_EQ(LedgerFile::open(file_, header()).charged(), torn.charged);
    EXPECT_EQ(read_ledger(file_).charged, torn.charged);
    EXPECT_FALSE(read_ledger(file_).torn) << "it was mended";
  }
}

TEST_F(LedgerFileTest, DamageOtherPlansAndOtherFilesAreRefused) {
  { LedgerFile(file_, header()).charge(kStep); }
  EXPECT_THROW(LedgerFile::open(file_, header({{kStep, 101}, {kOther, 3}})), InputError);
  LedgerHeader other = header();
  other.data_fingerprint = "g";
  EXPECT_THROW(LedgerFile::open(file_, other), InputError);
  EXPECT_THROW(LedgerFile(file_, header()), InputError) << "nothing is overwritten";
  std::string text = content();
  text[20] ^= 1;
  put(text);
  EXPECT_THROW(read_ledger(file_), PrivacyError);
  EXPECT_THROW(LedgerFile::open(file_, header()), PrivacyError);
  put("");
  EXPECT_THROW(read_ledger(file_), PrivacyError);
  put("some other file\nof two lines\n");
  EXPECT_THROW(read_ledger(file_), PrivacyError);
}

}  // namespace
}  // namespace fodp
