#include "fodp/base/state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fodp {
namespace {

using ::testing::HasSubstr;

struct Inner {
  std::vector<double> values;
  std::vector<std::vector<double>> rows;
  void state(StateVisitor& visit) {
    visit("values", values);
    visit("rows", rows);
  }
};

struct Outer {
  std::int64_t steps = 0;
  bool started = false;
  std::vector<float> fixed = {0, 0};
  double secret = 0;
  Inner inner;
  void state(StateVisitor& visit) {
    visit("steps", steps);
    visit("started", started);
    visit("fixed", std::span(fixed));
    if (visit.insecure()) visit("secret", secret);
    visit.part("inner", inner);
  }
};

State saved(Outer part, bool insecure = false) {
  State state;
  StateVisitor visit = StateVisitor::saving(state, insecure);
  part.state(visit);
  return state;
}

Outer loaded(const State& state, bool insecure = false) {
  Outer part;
  StateVisitor visit = StateVisitor::loading(state, insecure);
  part.state(visit);
  visit.check_all_taken();
  return part;
}

const Outer kPart{7, true, {1.5f, -2}, 3, {{.1, .2}, {{1}, {}, {2, 3}}}};

TEST(State, ComesBackAsItWas) {
  const Outer back = loaded(saved(kPart, true), true);
  EXPECT_EQ(saved(back, true), saved(kPart, true));
  EXPECT_EQ(back.inner.rows, kPart.inner.rows);
  EXPECT_EQ(back.secret, 3);
}

TEST(State, SecretsAreListedForInsecureRunsOnly) {
  EXPECT_FALSE(saved(kPart).contains("secret"));
  EXPECT_EQ(loaded(saved(kPart)).secret, 0);
}

std::string complaint(State state) {
  try {
    loaded(state);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(State, WhatDoesNotFitIsRefusedByName) {
  State state = saved(kPart);
  state.erase("inner.values");
  EXPECT_THAT(complaint(state), HasSubstr("'inner.values' is missing"));
  state = saved(kPart);
  state["steps"] = 7.0;
  EXPECT_THAT(complaint(state), HasSubstr("'steps' is of another type"));
  state = saved(kPart);
  state["fixed"] = std::vector<float>{1, 2, 3};
  EXPECT_THAT(complaint(state), HasSubstr("has 3 values"));
  state = saved(kPart);
  state["more"] = true;
  EXPECT_THAT(complaint(state), HasSubstr("1 values are of no part"));
}

}  // namespace
}  // namespace fodp
