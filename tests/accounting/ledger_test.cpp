#include "fodp/accounting/ledger.h"

#include <cmath>
#include <limits>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "counting_accountant.h"
#include "fodp/accounting/rdp.h"
#include "fodp/base/check.h"

namespace fodp {
namespace {

static_assert(!std::is_copy_constructible_v<Charge>);
static_assert(!std::is_copy_assignable_v<Charge>);
static_assert(!std::is_move_assignable_v<Charge>);
static_assert(!std::is_default_constructible_v<Charge>);
static_assert(!std::is_constructible_v<Charge, Event, std::uint64_t>);
static_assert(!std::is_constructible_v<Charge, const Event&, std::uint64_t>);
static_assert(!std::is_constructible_v<Charge, const Event&, std::uint64_t, std::uint64_t, std::int64_t>);
static_assert(std::is_nothrow_move_constructible_v<Charge>);
static_assert(!std::is_copy_constructible_v<Ledger>);

TEST(Ledger, JournalHearsOfAnEventBeforeItIsCharged) {
  Ledger ledger;
  std::vector<LedgerRecord> heard;
  ledger.set_journal([&](const LedgerRecord& record) {
    EXPECT_EQ(ledger.count(), record.first_number);
    EXPECT_EQ(total_count(ledger.events()), static_cast<std::int64_t>(heard.size()));
    heard.push_back(record);
  });
  ledger.charge(kStep, 3);
  ledger.charge(kOther);
  EXPECT_EQ(heard, (std::vector<LedgerRecord>{{0, 3, kStep}, {3, 1, kOther}}));
}

TEST(Ledger, WithoutItsRecordNothingIsCharged) {
  const CountingAccountant accountant;
  Ledger ledger({.epsilon = 4, .delta = 1e-5}, accountant);
  ledger.plan({{kStep, 3}});
  bool disk_full = true;
  ledger.set_journal([&](const LedgerRecord&) {
    if (disk_full) throw std::runtime_error("disk full");
  });
  EXPECT_THROW(ledger.charge(kStep), std::runtime_error);
  EXPECT_THROW(ledger.charge(kOther), std::runtime_error);
  EXPECT_EQ(ledger.count(), 0u);
  EXPECT_TRUE(ledger.events().empty());
  disk_full = false;
  accountant.asked = 0;
  EXPECT_EQ(ledger.charge(kStep).number(), 0u);
  EXPECT_EQ(accountant.asked, 0) << "the plan must be as it was";
}

TEST(Ledger, WhatWasSpentBeforeCountsAgainstTheBudgetAndTakesNoNumbers) {
  const CountingAccountant accountant;
  Ledger ledger({.epsilon = 3, .delta = 1e-5}, accountant);
  int heard = 0;
  ledger.set_journal([&](const LedgerRecord&) { ++heard; });
  ledger.spent_before({{kStep, 2}});
  EXPECT_EQ(heard, 0);
  EXPECT_EQ(ledger.events(), (Events{{kStep, 2}}));
  EXPECT_THROW(ledger.plan({{kStep, 2}}), PrivacyError);
  ledger.plan({{kStep, 1}});
  EXPECT_EQ(ledger.charge(kStep).number(), 0u);
  EXPECT_EQ(ledger.events(), (Events{{kStep, 3}}));
  EXPECT_THROW(ledger.charge(kStep), PrivacyError);
  EXPECT_THROW(ledger.spent_before({{kStep, 1}}), InputError) << "it comes first";
}

TEST(Ledger, WhatWasSpentBeforeStaysWhenItIsRebuiltOrItsStateIsLoaded) {
  Ledger ledger, rebuilt, loaded;
  for (Ledger* one : {&ledger, &rebuilt, &loaded}) one->spent_before({{kOther, 2}});
  ledger.charge(kStep, 3);
  const std::vector<LedgerRecord> records = {{0, 3, kStep}};
  rebuilt.rebuild(records);
  EXPECT_EQ(rebuilt.events(), ledger.events());
  State state;
  StateVisitor save = StateVisitor::saving(state, false), load = StateVisitor::loading(state, false);
  ledger.state(save);
  loaded.state(load);
  EXPECT_EQ(loaded.events(), (Events{{kOther, 2}, {kStep, 1}}));
  EXPECT_EQ(loaded.count(), 3u);
}

TEST(Ledger, AStateThatWouldRepeatNumbersIsRefused) {
  Ledger ledger;
  std::optional<Charge> open = ledger.charge(kStep, 2);
  State early, late;
  StateVisitor save_early = StateVisitor::saving(early, false), load_early = StateVisitor::loading(early, false);
  ledger.state(save_early);
  ledger.charge_state(save_early, open);
  ledger.charge(kStep);
  StateVisitor save_late = StateVisitor::saving(late, false), load_late = StateVisitor::loading(late, false);
  ledger.state(save_late);
  EXPECT_THROW(ledger.state(load_early), PrivacyError);
  EXPECT_THROW(ledger.charge_state(load_early, open), PrivacyError);
  EXPECT_EQ(ledger.count(), 3u);
  EXPECT_EQ(total_count(ledger.events()), 2);
  ledger.state(load_late);
  EXPECT_EQ(ledger.charge(kStep).number(), 3u);
}

TEST(Ledger, EveryLedgerHasAnIdThatItsChargesCarry) {
  Ledger one, other;
  EXPECT_NE(one.id(), other.id());
  Charge charge = one.charge(kStep);
  EXPECT_EQ(charge.ledger(), one.id());
  EXPECT_EQ(Charge(std::move(charge)).ledger(), one.id());
}

TEST(Ledger, ARefusedEventIsNotRecorded) {
  const CountingAccountant accountant;
  Ledger ledger({.epsilon = 1, .delta = 1e-5}, accountant);
  int records = 0;
  ledger.set_journal([&](const LedgerRecord&) { ++records; });
  ledger.charge(kStep);
  EXPECT_THROW(ledger.charge(kStep), PrivacyError);
  EXPECT_EQ(records, 1);
  EXPECT_EQ(ledger.count(), 1u);
  EXPECT_EQ(ledger.events(), (Events{{kStep, 1}}));
}

TEST(Ledger, NumbersIncreaseByOne) {
  Ledger ledger;
  for (std::uint64_t i = 0; i < 10; ++i) {
    const Charge charge = ledger.charge(i % 3 ? kStep : kOther);
    EXPECT_EQ(charge.number(), i);
    EXPECT_EQ(charge.event(), i % 3 ? kStep : kOther);
  }
  EXPECT_EQ(ledger.count(), 10u);
}

TEST(Ledger, EqualEventsMergeWhereverTheyStand) {
  Ledger ledger;
  for (const Event& event : {kStep, kStep, kOther, kStep, kOther, kStep}) ledger.charge(event);
  EXPECT_EQ(ledger.events(), (Events{{kStep, 4}, {kOther, 2}}));
}

TEST(Ledger, EventsThatDifferInAnyNumberStayApart) {
  Ledger ledger;
  const Events all = {{Event::gaussian(1), 1},
                      {Event::gaussian(2), 1},
                      {Event::poisson_gaussian(.5, 1), 1},
                      {Event::poisson_gaussian(.5, 1, .001), 1},
                      {Event::poisson_gaussian(.25, 1), 1}};
  for (const Composed& part : all) ledger.charge(part.event);
  EXPECT_EQ(ledger.events(), all);
}

TEST(Ledger, NumbersCountReleases) {
  Ledger ledger;
  std::vector<std::uint64_t> heard;
  ledger.set_journal([&](const LedgerRecord& record) { heard.push_back(record.first_number); });
  EXPECT_EQ(ledger.charge(kStep).number(), 0u);
  EXPECT_EQ(ledger.charge(kOther, 5).number(), 1u);
  EXPECT_EQ(ledger.charge(kStep).number(), 6u);
  EXPECT_EQ(ledger.count(), 7u);
  EXPECT_EQ(heard, (std::vector<std::uint64_t>{0, 1, 6}));
  EXPECT_EQ(ledger.events(), (Events{{kStep, 2}, {kOther, 1}})) << "releases that are charged as one cost one event";
}

TEST(Ledger, ReleasesOutOfRangeAreRefusedAndChangeNothing) {
  Ledger ledger;
  for (std::int64_t releases : {std::int64_t{0}, std::int64_t{-1}}) EXPECT_THROW(ledger.charge(kStep, releases), InputError);
  EXPECT_EQ(ledger.count(), 0u);
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  ledger.charge(kStep, most);
  ledger.charge(kStep, most);
  EXPECT_THROW(ledger.charge(kStep, most), PrivacyError) << "numbers would repeat";
  EXPECT_EQ(ledger.events(), (Events{{kStep, 2}}));
}

TEST(Charge, IsSpentOnce) {
  Ledger ledger;
  Charge charge = ledger.charge(kStep);
  EXPECT_FALSE(charge.used_up());
  EXPECT_EQ(charge.spend(), 0u);
  EXPECT_TRUE(charge.used_up());
  EXPECT_THROW(charge.spend(), PrivacyError);
}

TEST(Charge, IsSpentAsOftenAsItHasReleases) {
  Ledger ledger;
  ledger.charge(kOther);
  Charge charge = ledger.charge(kStep, 3);
  EXPECT_EQ(charge.releases(), 3);
  for (std::uint64_t number : {1u, 2u, 3u}) {
    EXPECT_FALSE(charge.used_up());
    EXPECT_EQ(charge.spend(7), number);
  }
  EXPECT_TRUE(charge.used_up());
  EXPECT_THROW(charge.spend(7), PrivacyError);
  EXPECT_EQ(charge.number(), 1u);
}

TEST(Charge, IsForOneTicketAndAnotherSpendsNothing) {
  Ledger ledger;
  Charge charge = ledger.charge(kStep, 3);
  EXPECT_EQ(charge.spend(7), 0u);
  EXPECT_THROW(charge.spend(8), PrivacyError);
  EXPECT_THROW(charge.spend(), PrivacyError);
  EXPECT_EQ(charge.spend(7), 1u);
  Charge taken = std::move(charge);
  EXPECT_THROW(charge.spend(7), PrivacyError);
  EXPECT_TRUE(charge.used_up());
  EXPECT_THROW(taken.spend(8), PrivacyError) << "the ticket goes with the charge";
  EXPECT_EQ(taken.spend(7), 2u);
  EXPECT_TRUE(taken.used_up());
}

TEST(Charge, GivenAwayCannotBeSpentByTheGiver) {
  Ledger ledger;
  Charge given = ledger.charge(kStep);
  Charge taken = std::move(given);
  EXPECT_EQ(taken.number(), 0u);
  EXPECT_EQ(taken.event(), kStep);
  EXPECT_THROW(given.spend(), PrivacyError);
  EXPECT_NO_THROW(taken.spend());
}

TEST(Charge, SpentStaysSpentWhenGivenAway) {
  Ledger ledger;
  Charge given = ledger.charge(kStep);
  given.spend();
  Charge taken = std::move(given);
  EXPECT_THROW(taken.spend(), PrivacyError);
}

TEST(Budget, IsReachedButNeverPassed) {
  const CountingAccountant accountant;
  Ledger ledger({.epsilon = 5, .delta = 1e-5}, accountant);
  EXPECT_EQ(charges_until_refusal(ledger, kStep, 20), 5);
  EXPECT_EQ(ledger.count(), 5u);
}

TEST(Budget, OfRenyiAccountantIsNeverPassed) {
  const RdpAccountant accountant;
  const double epsilon = accountant.epsilon({{kStep, 20}}, 1e-5).epsilon;
  Ledger exact({.epsilon = epsilon, .delta = 1e-5}, accountant);
  EXPECT_EQ(charges_until_refusal(exact, kStep, 30), 20);
  Ledger below({.epsilon = std::nextafter(epsilon, 0.), .delta = 1e-5}, accountant);
  EXPECT_EQ(charges_until_refusal(below, kStep, 30), 19);
}

TEST(Budget, RefusesNoiselessEvents) {
  const RdpAccountant accountant;
  Ledger ledger({.epsilon = 1e9, .delta = 1e-5}, accountant);
  EXPECT_THROW(ledger.charge(Event::gaussian(0)), PrivacyError);
}

TEST(Budget, ChargesForSlack) {
  const RdpAccountant accountant;
  const double ideal = accountant.epsilon({{kStep, 1}}, 1e-5).epsilon;
  Ledger ledger({.epsilon = ideal, .delta = 1e-5}, accountant);
  EXPECT_THROW(ledger.charge(Event::poisson_gaussian(.04, 1.1, .002)), PrivacyError);
  EXPECT_NO_THROW(ledger.charge(kStep));
}

TEST(Budget, AnEpsilonThatIsNotANumberIsRefused) {
  struct Broken : Accountant {
    std::string name() const override { return "broken"; }
    Spent epsilon(const Events&, double) const override { return {.epsilon = std::numeric_limits<double>::quiet_NaN()}; }
  } accountant;
  Ledger ledger({.epsilon = 5, .delta = 1e-5}, accountant);
  EXPECT_THROW(ledger.charge(kStep), PrivacyError);
  EXPECT_THROW(ledger.plan({{kStep, 1}}), PrivacyError);
}

TEST(Budget, OutOfRangeIsBadInput) {
  const CountingAccountant accountant;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (double epsilon : {-1., nan}) EXPECT_THROW(Ledger({.epsilon = epsilon, .delta = 1e-5}, accountant), InputError) << epsilon;
  for (double delta : {-1e-9, 1., nan}) EXPECT_THROW(Ledger({.epsilon = 1, .delta = delta}, accountant), InputError) << delta;
}

TEST(Plan, IsCheckedOnceAndThenFollowedForFree) {
  const CountingAccountant accountant;
  Ledger ledger({.epsilon = 1000, .delta = 1e-5}, accountant);
  const Event last = Event::gaussian(50);
  ledger.plan({{kStep, 400}, {kOther, 200}, {last, 400}});
  EXPECT_EQ(accountant.asked, 1);
  EXPECT_EQ(charges_until_refusal(ledger, kStep, 400), 400);
  EXPECT_EQ(charges_until_refusal(ledger, kOther, 200), 200);
  EXPECT_EQ(charges_until_refusal(ledger, last, 400), 400);
  EXPECT_EQ(accountant.asked, 1);
}

TEST(Plan, IsFollowedInAnyOrder) {
  const CountingAccountant accountant;
  Ledger ledger({.epsilon = 6, .delta = 1e-5}, accountant);
  ledger.plan({{kStep, 3}, {kOther, 1}, {kStep, 1}, {kOther, 1}});
  for (const Event& event : {kOther, kStep, kStep, kOther, kStep, kStep}) ledger.charge(event);
  EXPECT_EQ(accountant.asked, 1);
  EXPECT_THROW(ledger.charge(kStep), PrivacyError);
}

TEST(Plan, PaysForEachEventAsOftenAsItIsPlanned) {
  const CountingAccountant accountant;
  Ledger ledger({.epsilon = 4, .delta = 1e-5}, accountant);
  ledger.plan({{kStep, 2}, {kOther, 2}});
  ledger.charge(kStep);
  ledger.charge(kStep);
  EXPECT_THROW(ledger.charge(kStep), PrivacyError) << "the two others are still planned";
  ledger.charge(kOther);
  ledger.charge(kOther);
  EXPECT_THROW(ledger.charge(kOther), PrivacyError);
  EXPECT_EQ(accountant.asked, 3);
}

TEST(Plan, EndsWithItsLastEvent) {
  const CountingAccountant accountant;
  Ledger ledger({.epsilon = 3, .delta = 1e-5}, accountant);
  ledger.plan({{kStep, 3}});
  EXPECT_EQ(charges_until_refusal(ledger, kStep, 10), 3);
}

TEST(Plan, ThatDoesNotFitIsRefusedAndChangesNothing) {
  const CountingAccountant accountant;
  Ledger ledger({.epsilon = 5, .delta = 1e-5}, accountant);
  EXPECT_THROW(ledger.plan({{kStep, 6}}), PrivacyError);
  EXPECT_EQ(ledger.count(), 0u);
  EXPECT_EQ(charges_until_refusal(ledger, kStep, 10), 5);
}

TEST(Plan, CountsWhatIsChargedAlready) {
  const CountingAccountant accountant;
  Ledger ledger({.epsilon = 5, .delta = 1e-5}, accountant);
  ledger.charge(kOther);
  ledger.charge(kOther);
  EXPECT_THROW(ledger.plan({{kStep, 4}}), PrivacyError);
  EXPECT_NO_THROW(ledger.plan({{kStep, 3}}));
  EXPECT_EQ(charges_until_refusal(ledger, kStep, 10), 3);
}

TEST(Plan, GoesOnAfterADepartureThatFitsBesideIt) {
  const CountingAccountant accountant;
  Ledger ledger({.epsilon = 6, .delta = 1e-5}, accountant);
  ledger.plan({{kStep, 5}});
  ledger.charge(kStep);
  ledger.charge(kOther);  // fits beside the plan: 6 of 6
  EXPECT_EQ(total_count(ledger.committed()), 6);
  accountant.asked = 0;
  EXPECT_EQ(charges_until_refusal(ledger, kStep, 10), 4);
  EXPECT_EQ(accountant.asked, 1) << "what is planned is not checked again";
}

TEST(Plan, DoesNotPayForADeparture) {
  const CountingAccountant accountant;
  Ledger ledger({.epsilon = 5, .delta = 1e-5}, accountant);
  ledger.plan({{kStep, 5}});
  for (int i = 0; i < 4; ++i) ledger.charge(kStep);
  EXPECT_THROW(ledger.charge(kOther), PrivacyError);
  EXPECT_EQ(total_count(ledger.committed()), 5);
  ledger.charge(kStep);
  EXPECT_EQ(ledger.count(), 5u);
}

TEST(Plan, ADepartureThatIsRefusedLeavesThePlan) {
  const RdpAccountant accountant;
  const double epsilon = accountant.epsilon({{kStep, 3}}, 1e-5).epsilon;
  Ledger ledger({.epsilon = epsilon, .delta = 1e-5}, accountant);
  ledger.plan({{kStep, 3}});
  EXPECT_THROW(ledger.charge(Event::gaussian(.1)), PrivacyError);
  EXPECT_EQ(charges_until_refusal(ledger, kStep, 10), 3);
}

TEST(Plan, ANewOneReplacesWhatIsLeft) {
  const CountingAccountant accountant;
  Ledger ledger({.epsilon = 4, .delta = 1e-5}, accountant);
  ledger.plan({{kStep, 4}});
  ledger.charge(kStep);
  ledger.plan({{kStep, 0}, {kOther, 2}});
  accountant.asked = 0;
  ledger.charge(kOther);
  ledger.charge(kOther);
  EXPECT_EQ(accountant.asked, 0);
  EXPECT_EQ(charges_until_refusal(ledger, kStep, 10), 1);
}

TEST(Plan, OfFewerThanNoEventsIsBadInput) {
  Ledger ledger;
  EXPECT_THROW(ledger.plan({{kStep, -1}}), InputError);
}

TEST(Ledger, WithoutABudgetRecordsAnything) {
  Ledger ledger;
  ledger.plan({{kStep, 2}});
  EXPECT_EQ(charges_until_refusal(ledger, Event::gaussian(0), 100), 100);
}

}  // namespace
}  // namespace fodp
