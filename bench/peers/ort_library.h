// SPDX-License-Identifier: Apache-2.0
// The library of ONNX Runtime, opened at run time, for those who run models with it.
#pragma once

#define ORT_API_MANUAL_INIT
#include <onnxruntime_cxx_api.h>

#include <string>

#include "jit/interp/reference.h"

namespace hone::bench {

/// The library's functions: of the file that HONE_ONNXRUNTIME names, else of the installed one.
/// Null where there is none, or one older than the headers. All else here needs them.
const OrtApi* ort_api();

/// Version, and how it was built; empty where there is none.
std::string about_ort();

const Ort::Env& ort_env();

/// All optimisations, and so many threads for a node; nodes run one after the other.
Ort::SessionOptions ort_options(int threads);

/// A model from its bytes, or from its file. Throws Ort::Exception.
Ort::Session ort_session(const std::string& bytes, const Ort::SessionOptions& options);
Ort::Session ort_session_of_file(const std::string& path, const Ort::SessionOptions& options);

/// The runtime's handle of a dense tensor that lies in our memory. Its type must be one that
/// onnx_type_of knows.
Ort::Value ort_value(const jit::TensorView& v);

}  // namespace hone::bench
