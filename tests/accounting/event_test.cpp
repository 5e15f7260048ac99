#include "fodp/accounting/event.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "fodp/accounting/pld.h"
#include "fodp/accounting/rdp.h"
#include "fodp/base/check.h"

namespace fodp {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(Event, KeepsWhatItIsGiven) {
  const Event event = Event::poisson_gaussian(.04, 1.1, .002);
  EXPECT_EQ(event.kind, &kPoissonGaussianEvent);
  EXPECT_EQ(event.kind->name, "poisson_gaussian");
  EXPECT_EQ(event.sample_rate, .04);
  EXPECT_EQ(event.noise_multiplier, 1.1);
  EXPECT_EQ(event.slack, .002);
}

// What accountants compute depends on the pair that a kind names, and on nothing else of it.
TEST(Event, AKindOfItsOwnIsComposedAsThePairThatStandsForIt) {
  static const EventKind half{.name = "half",
                              .words = "half as much noise",
                              .check = [](const Event&) {},
                              .stands_for =
                                  [](const Event& event) {
                                    return SampledGaussian{event.sample_rate, event.charged_multiplier() / 2};
                                  }};
  const Events own{{Event{&half, .04, 2.2, .002}, 500}}, known{{Event::poisson_gaussian(.04, 1.1, .002), 500}};
  EXPECT_EQ(PldAccountant().epsilon(own, 1e-5).epsilon, PldAccountant().epsilon(known, 1e-5).epsilon);
  EXPECT_EQ(RdpAccountant().epsilon(own, 1e-5).epsilon, RdpAccountant().epsilon(known, 1e-5).epsilon);
}

TEST(Event, SamplingEveryRecordIsThePlainGaussian) {
  EXPECT_EQ(Event::poisson_gaussian(1, 1.1, .002), Event::gaussian(1.1, .002));
  EXPECT_EQ(Event::gaussian(1.1).kind->name, "gaussian");
  EXPECT_EQ(Event::gaussian(1.1).sample_rate, 1);
}

TEST(Event, SlackIsChargedAsLessNoise) {
  EXPECT_DOUBLE_EQ(Event::gaussian(2, .25).charged_multiplier(), 1.6);
  EXPECT_EQ(Event::gaussian(2).charged_multiplier(), 2);
  EXPECT_EQ(Event::gaussian(0, .25).charged_multiplier(), 0);
}

TEST(Event, CoversWhatCostsNoMore) {
  const Event paid = Event::poisson_gaussian(.04, 1.1, .002);
  EXPECT_TRUE(paid.covers(paid));
  EXPECT_TRUE(paid.covers(Event::poisson_gaussian(.03, 1.1, .002)));
  EXPECT_TRUE(paid.covers(Event::poisson_gaussian(.04, 1.2, .002)));
  EXPECT_TRUE(paid.covers(Event::poisson_gaussian(.04, 1.1, .001)));
  EXPECT_FALSE(paid.covers(Event::poisson_gaussian(.05, 1.1, .002))) << "a larger rate";
  EXPECT_FALSE(paid.covers(Event::poisson_gaussian(.04, 1.0, .002))) << "less noise";
  EXPECT_FALSE(paid.covers(Event::poisson_gaussian(.04, 1.2, .003))) << "more slack, even where the noise makes up for it";
  EXPECT_FALSE(Event::poisson_gaussian(.04, 1.1 * 1.003, .002).covers(paid)) << "the noise that is charged, not the ideal one, is compared";
  EXPECT_TRUE(Event::poisson_gaussian(.04, 1.1 * 1.003, .01).covers(paid));
}

TEST(Event, CoversItsOwnKindOnly) {
  EXPECT_FALSE(Event::gaussian(1.1).covers(Event::poisson_gaussian(.04, 1.1)));
  EXPECT_FALSE(Event::poisson_gaussian(.04, 1.1).covers(Event::gaussian(1.1)));
  EXPECT_TRUE(Event::gaussian(0).covers(Event::gaussian(1.1)));
  EXPECT_FALSE((Event{.noise_multiplier = kNan}).covers(Event::gaussian(1.1))) << "not a number";
}

TEST(Event, IdealIsTheSameWithoutSlack) {
  EXPECT_EQ(Event::poisson_gaussian(.04, 1.1, .002).ideal(), Event::poisson_gaussian(.04, 1.1));
  const Events run{{Event::gaussian(3, .001), 2}, {Event::poisson_gaussian(.04, 1.1, .002), 5}};
  EXPECT_EQ(ideal(run), (Events{{Event::gaussian(3), 2}, {Event::poisson_gaussian(.04, 1.1), 5}}));
}

TEST(Event, DiffersInEveryField) {
  const Event event = Event::poisson_gaussian(.04, 1.1, .002);
  EXPECT_NE(event, Event::poisson_gaussian(.05, 1.1, .002));
  EXPECT_NE(event, Event::poisson_gaussian(.04, 1.2, .002));
  EXPECT_NE(event, Event::poisson_gaussian(.04, 1.1, .001));
  EXPECT_NE(event, (Event{&kGaussianEvent, .04, 1.1, .002}));
}

TEST(Event, RefusesValuesOutOfRange) {
  for (double rate : {0., -.1, 1.0001, kNan}) EXPECT_THROW(Event::poisson_gaussian(rate, 1), InputError) << rate;
  for (double noise : {-1e-9, kNan}) {
    EXPECT_THROW(Event::gaussian(noise), InputError) << noise;
    EXPECT_THROW(Event::poisson_gaussian(.5, noise), InputError) << noise;
    EXPECT_THROW(Event::poisson_gaussian(1, noise), InputError) << noise;
  }
  for (double slack : {-1e-9, 1., kNan}) {
    EXPECT_THROW(Event::gaussian(1, slack), InputError) << slack;
    EXPECT_THROW(Event::poisson_gaussian(.5, 1, slack), InputError) << slack;
  }
}

TEST(Event, MessageNamesTheValueAndTheRange) {
  try {
    Event::poisson_gaussian(1.5, 1);
    FAIL() << "a rate of 1.5 was accepted";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "sample rate is 1.5: must be in (0, 1]");
  }
}

TEST(Event, NoNoiseAndTheSmallestRateAreAllowed) {
  EXPECT_EQ(Event::gaussian(0).noise_multiplier, 0);
  EXPECT_EQ(Event::poisson_gaussian(1e-7, 0).sample_rate, 1e-7);
}

TEST(Event, CountsOfARunAddUp) {
  EXPECT_EQ(total_count({}), 0);
  EXPECT_EQ(total_count({{Event::gaussian(1), 3}, {Event::gaussian(2), 4000000000}}), 4000000003);
}

}  // namespace
}  // namespace fodp
