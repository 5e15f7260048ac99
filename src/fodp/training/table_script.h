// The preprocessing of a table as TorchScript: what data/table.h does to a row by its schema, in a form that PyTorch runs without this
// library.
#pragma once

#include <string>

#include <torch/csrc/jit/api/module.h>

#include "fodp/data/schema.h"

namespace fodp {

// Gives the module the attributes and methods that make inputs of a table's columns. The main one is
//
//   inputs(columns: Dict[str, List[str]]) -> Tensor      float32 [rows, inputs]
//
// which takes the texts of each column by its name, and refuses what TableRows refuses in a file to predict.
void add_table_inputs(torch::jit::Module& module, const Schema& schema);

// InputError, which begins with `where`, for a schema with a date whose format TorchScript cannot read: it has no strptime, so that only
// the usual conversions are understood there.
void check_table_can_be_scripted(const Schema& schema, const std::string& where);

}  // namespace fodp
