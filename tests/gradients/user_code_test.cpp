#include "fodp/gradients/user_code.h"

#include <ATen/ops/ones.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fodp {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

const Batch kBatch{at::ones({37, 3, 32}), at::ones({37}, at::kLong)};

template <class F>
std::string public_error(const F& f) {
  try {
    in_user_code("trying it", kBatch, f);
  } catch (const UserCodeError& error) {
    return error.what();
  }
  return "not thrown";
}

template <class F>
std::string training_error(const F& f, const Batch& batch = kBatch) {
  try {
    in_user_code_on_training_rows("trying it", batch, f);
  } catch (const UserCodeError& error) {
    return error.what();
  }
  return "not thrown";
}

TEST(UserCode, ResultsPassThrough) {
  EXPECT_EQ(in_user_code("trying it", kBatch, [] { return 7; }), 7);
  EXPECT_EQ(in_user_code_on_training_rows("trying it", kBatch, [] { return 7; }), 7);
}

TEST(UserCode, SaysWhatWasDoneOnWhichRowsAndTheFirstLineOfLibTorch) {
  const std::string text = public_error([] { return at::ones({2, 3}).matmul(at::ones({2, 3})); });
  EXPECT_THAT(text, AllOf(HasSubstr("failed while trying it (inputs [rows, 3, 32] float, targets [rows] long): "), HasSubstr("shapes"),
                          Not(HasSubstr("\n")), Not(HasSubstr("37"))));
}

TEST(UserCode, TakesExceptionsOfAnyKind) {
  EXPECT_THAT(public_error([] { throw std::runtime_error("no such word\nsecond line"); }), EndsWith("): no such word"));
  EXPECT_THAT(public_error([] { throw InputError("not allowed"); }), EndsWith("): not allowed"));
  EXPECT_THAT(public_error([] { throw 42; }), HasSubstr("not a std::exception"));
}

// Neither what was said nor the number of rows, whoever said it.
TEST(UserCode, NothingOfTrainingRowsIsPassedOn) {
  const auto says_nothing = AllOf(HasSubstr("failed while trying it (inputs [rows, 3, 32] float, targets [rows] long); "),
                                  Not(HasSubstr("4711")), Not(HasSubstr("37")));
  EXPECT_THAT(training_error([] { TORCH_CHECK(false, "index 4711 out of range"); }), says_nothing);
  EXPECT_THAT(training_error([] { throw std::out_of_range("4711 of 37"); }), says_nothing);
  EXPECT_THAT(training_error([] { throw InputError("got [37, 4711]"); }), says_nothing);
  EXPECT_THAT(training_error([] { throw 4711; }), says_nothing);
}

TEST(UserCode, RowsThatAreStillToBeFetchedHaveNoShape) {
  EXPECT_THAT(training_error([] { throw std::out_of_range("4711"); }, Batch{}), HasSubstr("failed while trying it; "));
}

TEST(UserCode, RefusalsAndFaultsKeepTheirKind) {
  EXPECT_THROW(training_error([] { throw PrivacyError("mixes"); }), PrivacyError);
  EXPECT_THROW(training_error([] { throw FaultError("no disk"); }), FaultError);
  EXPECT_THROW(training_error([] { throw std::bad_alloc(); }), std::bad_alloc);
}

// The inner call knows best whether its rows are private.
TEST(UserCode, WhatWasWithheldInsideStaysSoOutside) {
  const std::string text = public_error(
      [] { return in_user_code_on_training_rows("fetching rows", Batch{}, []() -> int { throw std::out_of_range("4711"); }); });
  EXPECT_THAT(text, AllOf(HasSubstr("while fetching rows; "), Not(HasSubstr("4711"))));
}

}  // namespace
}  // namespace fodp
