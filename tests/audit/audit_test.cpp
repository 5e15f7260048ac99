#include "fodp/audit/audit.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>
#include <torch/nn/functional/loss.h>

#include "fodp/gradients/linear.h"

namespace fodp {
namespace {

struct Net : torch::nn::Module {
  Net() {
    at::manual_seed(1);
    first = register_module("first", nn::Linear(100, 60));
    second = register_module("second", nn::Linear(60, 4));
  }
  at::Tensor forward(const at::Tensor& x) { return second->forward(first->forward(x).tanh()); }
  nn::Linear first{nullptr}, second{nullptr};
};

// One's own model, loss and rows.
struct Own {
  Own() {
    at::manual_seed(2);
    x = at::randn({4000, 100});
    y = at::arange(4000).remainder(4);
  }
  AuditReport audited(const PrivateOptions& options, const AuditOptions& asked = {.canaries = 600}) {
    return audit(
        net,
        [this](const at::Tensor& inputs, const at::Tensor& targets) {
          return torch::nn::functional::cross_entropy(net.forward(inputs), targets,
                                                      torch::nn::functional::CrossEntropyFuncOptions().reduction(torch::kNone));
        },
        {.count = 4000,
         .gather =
             [this](std::span<const std::int64_t> rows) {
               const at::Tensor chosen = at::tensor(at::ArrayRef<std::int64_t>(rows.data(), rows.size()), at::kLong);
               return Batch{x.index_select(0, chosen), y.index_select(0, chosen)};
             }},
        options, asked);
  }
  Net net;
  at::Tensor x, y;
};

PrivateOptions small_run(std::string method, std::int64_t seed = 3) {
  PrivateOptions options{.method = std::move(method), .insecure_seed = seed};
  options.privacy = {.epsilon = 3, .delta = 1e-5, .sample_rate = .05, .steps = 8};
  return options;
}

std::string failures(const AuditReport& report) {
  std::string text;
  for (const AuditCheck& check : report.checks)
    if (check.holds != true) text += check.name + ": " + check.what + "\n";
  return text;
}

TEST(Audit, EveryMethodPasses) {
  for (const MethodEntry* method : method_table()) {
    Own own;
    const AuditReport report = own.audited(small_run(std::string(method->name)));
    EXPECT_TRUE(report.passes()) << method->name << "\n" << failures(report);
    EXPECT_EQ(failures(report), "") << method->name;
    EXPECT_LE(report.epsilon_lower(), report.claimed_epsilon) << method->name;
  }
}

TEST(Audit, ClippingByLayersAndAdaptiveClippingPass) {
  for (const char* grouping : {"shared", "each"}) {
    PrivateOptions options = small_run("dp-sgd");
    options.set("group-clip", grouping);
    const AuditReport report = Own().audited(options);
    EXPECT_EQ(failures(report), "") << grouping;
  }
  PrivateOptions options = small_run("fo-dp-sgd");
  options.stages.clipping = "adaptive";
  EXPECT_EQ(failures(Own().audited(options)), "");
}

// Records that are taken away may be those by which a cyclic run looks whether its rows stay the same.
TEST(Audit, ACyclicRunOfFewRowsPasses) {
  for (const std::int64_t seed : {1, 2, 3}) {
    PrivateOptions options = small_run("bandmf", seed);
    options.privacy.sample_rate = .25;
    EXPECT_EQ(failures(Own().audited(options)), "") << seed;
  }
}

TEST(Audit, GivesTheParametersBackAndRepeatsItselfUnderASeed) {
  Own own;
  const at::Tensor before = own.net.first->weight.detach().clone();
  const AuditReport first = own.audited(small_run("fo-dp-sgd"));
  EXPECT_TRUE(before.equal(own.net.first->weight));
  PrivateOptions impossible = small_run("fo-dp-sgd");
  impossible.speed.threads = 2;
  const std::string folder = std::getenv("TMPDIR") ? std::getenv("TMPDIR") : "";
  ::setenv("TMPDIR", "/nowhere", 1);
  EXPECT_THROW(own.audited(impossible), InputError);
  folder.empty() ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", folder.c_str(), 1);
  EXPECT_TRUE(before.equal(own.net.first->weight));
  const AuditReport second = own.audited(small_run("fo-dp-sgd"));
  EXPECT_EQ(first.epsilon_lower(), second.epsilon_lower());
  ASSERT_EQ(first.checks.size(), second.checks.size());
  for (std::size_t i = 0; i < first.checks.size(); ++i)
    if (first.checks[i].name != "replay.resume") {  // that one has secret noise
      EXPECT_EQ(first.checks[i].what, second.checks[i].what);
    }
}

TEST(Audit, ARunWithoutNoiseIsRefused) {
  PrivateOptions options = small_run("dp-sgd");
  options.privacy.epsilon.reset();
  options.privacy.noise_multiplier = 0;
  EXPECT_THROW(Own().audited(options), InputError);
}

}  // namespace
}  // namespace fodp
