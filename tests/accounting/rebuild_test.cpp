// A ledger rebuilt from the records that its journal was given.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "counting_accountant.h"
#include "fodp/accounting/ledger.h"
#include "fodp/base/check.h"

namespace fodp {
namespace {

TEST(Rebuild, GivesTheLedgerThatWroteTheRecords) {
  Ledger before;
  std::vector<LedgerRecord> records;
  before.set_journal([&](const LedgerRecord& record) { records.push_back(record); });
  for (std::int64_t i = 0; i < 7; ++i) before.charge(i % 3 ? kStep : kOther, 1 + i % 2);
  Ledger after;
  int heard = 0;
  after.set_journal([&](const LedgerRecord&) { ++heard; });
  after.rebuild(records);
  EXPECT_EQ(after.events(), before.events());
  EXPECT_EQ(after.count(), before.count());
  EXPECT_EQ(heard, 0) << "what is written down already is not written again";
  EXPECT_EQ(after.charge(kStep).number(), before.charge(kStep).number());
}

TEST(Rebuild, NextChargeIsCheckedWithWhatWasSpent) {
  const CountingAccountant accountant;
  const std::vector<LedgerRecord> records{{0, 1, kStep}, {1, 2, kOther}, {3, 1, kStep}};
  Ledger ledger({.epsilon = 4, .delta = 1e-5}, accountant);
  ledger.rebuild(records);
  EXPECT_THROW(ledger.plan({{kStep, 2}}), PrivacyError);
  EXPECT_EQ(charges_until_refusal(ledger, kStep, 10), 1);

  Ledger overspent({.epsilon = 2, .delta = 1e-5}, accountant);
  EXPECT_NO_THROW(overspent.rebuild(records));
  EXPECT_EQ(total_count(overspent.events()), 3);
  EXPECT_THROW(overspent.charge(kStep), PrivacyError);
}

TEST(Rebuild, RefusesGapsAndOverlapsAndSaysWhere) {
  const auto refusal = [](const std::vector<LedgerRecord>& records) -> std::string {
    Ledger ledger;
    try {
      ledger.rebuild(records);
    } catch (const InputError& error) {
      EXPECT_EQ(ledger.count(), 0u);
      EXPECT_TRUE(ledger.events().empty());
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal({}), "");
  EXPECT_EQ(refusal({{0, 2, kStep}, {2, 1, kStep}}), "");
  EXPECT_THAT(refusal({{1, 1, kStep}}), testing::HasSubstr("record 1"));
  EXPECT_THAT(refusal({{0, 2, kStep}, {3, 1, kStep}}), testing::HasSubstr("record 2"));
  EXPECT_THAT(refusal({{0, 2, kStep}, {1, 1, kStep}}), testing::HasSubstr("record 2"));
  EXPECT_THAT(refusal({{0, 1, kStep}, {1, 1, kStep}, {1, 1, kStep}}), testing::HasSubstr("record 3"));
  EXPECT_THAT(refusal({{0, 0, kStep}}), testing::HasSubstr("record 1"));
  EXPECT_THAT(refusal({{0, -1, kStep}}), testing::HasSubstr("record 1"));
}

TEST(Rebuild, IsForAnEmptyLedger) {
  Ledger used, planned;
  used.charge(kStep);
  EXPECT_THROW(used.rebuild({}), InputError);
  planned.plan({{kStep, 2}});
  EXPECT_THROW(planned.rebuild({}), InputError);
}

}  // namespace
}  // namespace fodp
