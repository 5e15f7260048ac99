#include "fodp/gradients/parameters.h"

#include <gtest/gtest.h>
#include <torch/nn/modules/container/sequential.h>

#include "fodp/base/check.h"
#include "fodp/gradients/linear.h"

namespace fodp {
namespace {

torch::nn::Sequential two_layers() { return torch::nn::Sequential(nn::Linear(3, 4), nn::Linear(4, 2)); }

TEST(FlatParameters, KeepValuesNamesAndOrder) {
  torch::nn::Sequential model = two_layers();
  const at::Tensor before = model->named_parameters()["1.weight"].clone();
  FlatParameters flat(*model);
  EXPECT_EQ(flat.size(), 3 * 4 + 4 + 4 * 2 + 2);
  ASSERT_EQ(flat.slices().size(), 4u);
  EXPECT_EQ(flat.slices()[0].name, "0.weight");
  EXPECT_EQ(flat.slices()[3].name, "1.bias");
  EXPECT_TRUE(model->named_parameters()["1.weight"].equal(before));
}

TEST(FlatParameters, ModulesSeeChangesOfTheVector) {
  torch::nn::Sequential model = two_layers();
  FlatParameters flat(*model);
  for (float& value : flat.values()) value = 7;
  for (const at::Tensor& parameter : model->parameters()) EXPECT_EQ(parameter.min().item<float>(), 7);
}

TEST(FlatParameters, FrozenParametersStayOutside) {
  torch::nn::Sequential model = two_layers();
  model->named_parameters()["0.weight"].requires_grad_(false);
  FlatParameters flat(*model);
  EXPECT_EQ(flat.size(), 4 + 4 * 2 + 2);
  EXPECT_EQ(flat.offset_of(model->named_parameters()["0.weight"]), -1);
}

TEST(FlatParameters, OneTensorUnderTwoNamesIsRefused) {
  torch::nn::Sequential model(nn::Linear(4, 4), nn::Linear(4, 4));
  model->named_parameters()["1.weight"].set_data(model->named_parameters()["0.weight"]);
  try {
    FlatParameters flat(*model);
    FAIL() << "shared tensors were accepted";
  } catch (const PrivacyError& error) {
    EXPECT_NE(std::string(error.what()).find("0.weight"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("1.weight"), std::string::npos) << error.what();
  }
}

TEST(FlatParameters, OtherTypesThanFloatAreRefused) {
  torch::nn::Sequential model = two_layers();
  model->to(at::kDouble);
  EXPECT_THROW(FlatParameters flat(*model), PrivacyError);
}

TEST(FlatParameters, ReplacedStorageIsFound) {
  torch::nn::Sequential model = two_layers();
  FlatParameters flat(*model);
  EXPECT_NO_THROW(flat.check_views());
  model->to(at::kDouble);
  EXPECT_THROW(flat.check_views(), PrivacyError);
  model->to(at::kFloat);
  EXPECT_THROW(flat.check_views(), PrivacyError);  // float again, but elsewhere
}

}  // namespace
}  // namespace fodp
