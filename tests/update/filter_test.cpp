#include "fodp/update/filter.h"

#include <random>

#include <gtest/gtest.h>

#include "fodp/base/check.h"
#include "fodp/update/kalman.h"
#include "fodp/update/low_pass.h"
#include "fodp/update/memory_filter.h"
#include "known_sum.h"
#include "methods/plain/update.h"

namespace fodp {
namespace {

using namespace fodp::testing;

TEST(LowPass, AConstantPassesUnchanged) {
  for (std::int64_t order : {1, 2}) {
    LowPass filter({.filter_order = order});
    const std::vector<float> constant = {3, -.25f, 0};
    for (int t = 0; t < 200; ++t) {
      const auto out = filter.apply(constant);
      for (std::size_t i = 0; i < constant.size(); ++i)
        ASSERT_NEAR(out[i], constant[i], 1e-5 * std::abs(constant[i])) << order << ", step " << t;
    }
  }
}

TEST(LowPass, FirstOrderIsAnEmaCorrectedForItsStart) {
  LowPass filter({.filter_order = 1});
  double ema = 0, weight = 0;
  for (const auto& sum : random_rows(40, 1, 3)) {
    ema = .9 * ema + .1 * sum[0];
    weight = .9 * weight + .1;
    ASSERT_NEAR(filter.apply(sum)[0], ema / weight, 1e-6);
  }
}

TEST(LowPass, BothOrdersAgreeWithThePlainForm) {
  for (int order : {1, 2}) {
    LowPass filter({.filter_order = order});
    plain::LowPass plain(order);
    for (const auto& sum : random_rows(100, 5, 4)) {
      const auto expected = plain.apply({sum.begin(), sum.end()});
      const auto out = filter.apply(sum);
      for (std::size_t i = 0; i < out.size(); ++i) ASSERT_NEAR(out[i], expected[i], 1e-6);
    }
  }
}

// After its start the second order lets little of what alternates through, and the first a nineteenth of it.
TEST(LowPass, WhatAlternatesIsDamped) {
  for (std::int64_t order : {1, 2}) {
    LowPass filter({.filter_order = order});
    double last = 0;
    for (int t = 0; t < 1000; ++t) last = filter.apply(std::vector<float>{t % 2 ? 1.f : -1.f})[0];
    EXPECT_LT(std::abs(last), order == 1 ? .1 / 1.9 + 1e-6 : 1e-3);
  }
}

TEST(LowPass, OtherOrdersAreRefused) { EXPECT_THROW(LowPass({.filter_order = 3}), InputError); }

TEST(Kalman, StartsAsTheFirstGradient) {
  Kalman filter({.disk_kappa = .25});
  EXPECT_FLOAT_EQ(filter.apply(std::vector<float>{4})[0], 4);
  EXPECT_FLOAT_EQ(filter.apply(std::vector<float>{8})[0], 5);
  EXPECT_FLOAT_EQ(filter.apply(std::vector<float>{1})[0], 4);
}

TEST(Kalman, GainOneFiltersNothing) {
  Kalman filter({.disk_kappa = 1});
  for (const auto& sum : random_rows(5, 3, 1)) EXPECT_TRUE(std::ranges::equal(filter.apply(sum), sum));
}

plain::Kernel plain_kernel(Kernel kernel) {
  switch (kernel) {
    case Kernel::current:
      return plain::Kernel::current;
    case Kernel::uniform:
      return plain::Kernel::uniform;
    case Kernel::exponential:
      return plain::Kernel::exponential;
    case Kernel::tempered:
      return plain::Kernel::tempered;
    case Kernel::confidence:
      return plain::Kernel::confidence;
    case Kernel::grunwald:
      return plain::Kernel::grunwald;
  }
  return plain::Kernel::current;
}

TEST(MemoryFilter, AgreesWithThePlainForm) {
  for (Kernel kernel : {Kernel::uniform, Kernel::exponential, Kernel::tempered, Kernel::confidence, Kernel::grunwald})
    for (std::int64_t window : {1, 2, 5}) {
      const FractionalOptions options{.beta = .6, .alpha = .4, .window = window, .lambda = .1, .tau = .5, .gamma = .3, .kernel = kernel};
      MemoryFilter filter(resolve(options, 1, 1), *options.beta, 30);
      const plain::Settings settings{
          .beta = .6, .alpha = .4, .window = window, .gamma = .3, .kernel = plain_kernel(kernel), .lambda = .1, .tau = .5};
      plain::Memory plain(settings, 1e-6, 1);
      std::int64_t t = 0;
      for (const auto& sum : random_rows(30, 20, 6)) {
        const plain::Vector y(sum.begin(), sum.end()), expected = plain.mixed(y, t++);
        plain.add(y);
        const auto out = filter.apply(sum);
        for (std::size_t i = 0; i < out.size(); ++i)
          ASSERT_NEAR(out[i], expected[i], 1e-5) << enum_name(kernel) << ", window " << window << ", step " << t;
      }
    }
}

// The memory is of what came in, not of what went out: an input of 1, then zeros, has left a window of 3 after two more.
TEST(MemoryFilter, RemembersInputsNotOutputs) {
  const FractionalOptions options{.beta = .5, .window = 3, .kernel = Kernel::uniform};
  MemoryFilter filter(resolve(options, 1, 1), *options.beta, 10);
  const std::vector<float> one = {1}, zero = {0};
  EXPECT_FLOAT_EQ(filter.apply(one)[0], .5);
  EXPECT_FLOAT_EQ(filter.apply(zero)[0], .5);
  EXPECT_FLOAT_EQ(filter.apply(zero)[0], .25);
  EXPECT_FLOAT_EQ(filter.apply(zero)[0], 0);
}

TEST(MemoryFilter, BetaFollowsItsSchedule) {
  const FractionalOptions options{.window = 2, .kernel = Kernel::uniform};
  MemoryFilter filter(resolve(options, 1, 1), Schedule::linear(1, .5), 3);
  const std::vector<float> one = {1}, zero = {0};
  EXPECT_FLOAT_EQ(filter.apply(one)[0], 1);
  EXPECT_FLOAT_EQ(filter.apply(zero)[0], .25);
  EXPECT_FLOAT_EQ(filter.apply(one)[0], .5);
  EXPECT_FLOAT_EQ(filter.apply(zero)[0], .5) << "beyond the run the last beta goes on";
}

TEST(Filter, EachKindIsMade) {
  const auto made = [](std::string_view name) { return find_entry(filter_table(), "filter", name).make(RunContext{}); };
  EXPECT_EQ(find_entry(filter_table(), "filter", "none").make, nullptr);
  EXPECT_TRUE(dynamic_cast<LowPass*>(made("low-pass").get()));
  EXPECT_TRUE(dynamic_cast<MemoryFilter*>(made("memory").get()));
  EXPECT_TRUE(dynamic_cast<Kalman*>(made("kalman").get()));
}

}  // namespace
}  // namespace fodp
