#include "fodp/base/number_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fodp {
namespace {

TEST(NumberList, TextAndBack) {
  const NumberList list = FieldText<NumberList>::parse(".5, -2,1e3", "mean", {});
  EXPECT_THAT(list.numbers, ::testing::ElementsAre(.5, -2, 1000));
  EXPECT_EQ(FieldText<NumberList>::print(list), "0.5,-2,1000");
  EXPECT_EQ(FieldText<NumberList>::parse(FieldText<NumberList>::print(list), "mean", {}).numbers, list.numbers);
}

TEST(NumberList, WhatIsNoNumberIsRefused) {
  for (const char* text : {"", "1,,2", "1,", "1;2", "a"}) EXPECT_THROW(FieldText<NumberList>::parse(text, "mean", {}), InputError) << text;
}

}  // namespace
}  // namespace fodp
