// The commands, in the order of the program's help. Each is a function of its name, in a file of its own: in this folder, or in torch/ if
// it needs LibTorch. The function of a name that C++ keeps to itself ends in an underscore.
#pragma once

#define FODP_COMMANDS(PLAIN, WITH_TORCH)                                         \
  WITH_TORCH(train, "train a model privately")                                   \
  WITH_TORCH(plan, "what to train with: lots, steps and noise for a budget")     \
  PLAIN(account, "what a run costs: epsilon at a delta, or delta at an epsilon") \
  PLAIN(calibrate, "the noise, steps, sample rate or beta that meets a target")  \
  PLAIN(verify, "check from its files that a run's claim holds")                 \
  WITH_TORCH(audit, "attack a training: is it as private as it claims?")         \
  WITH_TORCH(schema, "draft what the columns of a table are")                    \
  WITH_TORCH(predict, "predict rows by a trained run")                           \
  WITH_TORCH(evaluate, "how well a trained run predicts public rows")            \
  WITH_TORCH(export_, "write a trained run as TorchScript")                      \
  WITH_TORCH(methods, "what each method does, releases and costs")               \
  WITH_TORCH(data, "which data sets are found where, checked")                   \
  WITH_TORCH(features, "compute features of images, list or delete them")        \
  WITH_TORCH(bench, "what privacy costs in time and memory, on this machine")    \
  WITH_TORCH(study, "run many trainings from one file: tables, figures, a page") \
  WITH_TORCH(reproduce, "the papers' experiments: run them and judge")           \
  PLAIN(report, "one page about studies or runs, to look at and to send")        \
  PLAIN(completion, "a script that completes this command line in bash, zsh or fish")
