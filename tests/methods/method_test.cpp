#include "fodp/methods/method.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fodp/base/check.h"
#include "fodp/training/plan.h"

namespace fodp {
namespace {

TEST(Methods, AreListedOnceWithAllThatPeopleAskFor) {
  std::set<std::string_view> names;
  for (const MethodEntry* method : method_table()) {
    const MethodEntry& entry = *method;
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    for (std::string_view text : {entry.summary, entry.formula, entry.event, entry.source}) EXPECT_FALSE(text.empty()) << entry.name;
    EXPECT_GE(entry.queries_per_step, entry.sums_per_step);
    EXPECT_FALSE(entry.standard("lr").empty()) << entry.name;
  }
  for (const char* name : {"fo-dp-sgd", "dp-sgd", "post-fm-dp-sgd", "sma-dp-sgd", "momentum", "dp-adam", "dp-adambc", "dp-adamw",
                           "adp-adamw", "dp-sat", "dp-sam", "annealed-dp-sgd", "dp-is", "dp-adam-ac", "doppler", "disk", "bandmf"})
    EXPECT_TRUE(names.contains(name)) << name;
}

TEST(Methods, DefaultsNameOptionsThatThereAre) {
  PrivateOptions options;
  std::set<std::string_view> open;
  for (const OptionView& view : parts_of(options))
    for (const OptionField& field : view.part->fields)
      if (std::holds_alternative<std::monostate>(field.value(view.options))) open.insert(field.name);
  for (const MethodEntry* entry : method_table())
    for (const MethodEntry::Default& standard : entry->defaults)
      EXPECT_TRUE(open.contains(standard.option)) << entry->name << " " << standard.option;
}

TEST(Methods, AnAliasIsTheMethodItNames) {
  EXPECT_EQ(&find_method("sa-dp-sgd"), &find_method("dp-sam"));
  EXPECT_THAT(std::string(find_method("dp-sam").alias_reason), ::testing::HasSubstr("tables"));
}

TEST(Methods, AnUnknownNameGetsTheNearest) {
  try {
    find_method("fo-dpsgd");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("did you mean 'fo-dp-sgd'"));
  }
}

}  // namespace
}  // namespace fodp
