// The whole of `fodp train` from C++: options, a plan that says what the run will cost, the trainer, its results. Once with a model that
// fodp has, once with one of your own.
#include <cstdio>

#include <fodp/gradients/linear.h>
#include <fodp/training/run_directory.h>
#include <torch/torch.h>

int main() try {
  fodp::TrainOptions options;
  options.data = {.train_size = 20000, .test_size = 2000};
  options.model = {.model = fodp::ModelKind::mlp, .hidden = {64}};
  options.privacy = {.epsilon = 2, .sample_rate = .02, .steps = 200};
  options.update = {.lr = 2};

  const fodp::Dataset data = fodp::load_dataset(options.data);
  fodp::Plan plan = fodp::make_plan(options, {data.train.size(), data.test.size()});
  std::printf("%s with %ld parameters: sigma %.3f, epsilon %.4f for %ld steps\n", std::string(plan.method().name).c_str(),
              plan.parameters(), plan.noise_multiplier().first(), plan.spent().epsilon, plan.steps());

  fodp::Trainer trainer(std::move(plan), data);
  const fodp::Result result = trainer.run({.evaluated = [](const fodp::Evaluation& e) {
    std::printf("step %3ld  epsilon so far %.3f  test accuracy %.1f%%\n", e.step, e.epsilon, 100 * e.test_metric);
  }});

  // A model of your own: a module and its forward.
  torch::nn::Sequential own(torch::nn::Flatten(), fodp::nn::Linear(784, 32), torch::nn::GELU(), fodp::nn::Linear(32, 10));
  fodp::Plan own_plan = fodp::make_plan(options, {{data.train.size(), data.test.size()}}, *own);
  fodp::Trainer own_trainer(std::move(own_plan), data.train, data.test,
                            {.module = own.ptr(), .forward = [own](const at::Tensor& x) mutable { return own->forward(x); }});
  const fodp::Result own_result = own_trainer.run();
  std::printf("own model: test accuracy %.1f%%\n\n%s", 100 * own_result.best_test_metric,
              fodp::privacy_statement(own_trainer.plan(), own_result, fodp::identity_now(data.fingerprint)).c_str());
  return result.best_test_metric > .7 && own_result.best_test_metric > .7 && result.spent.epsilon <= 2 ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
