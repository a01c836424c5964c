// SPDX-License-Identifier: Apache-2.0
// The messages of the format, with the fields that are read. Fixed by: onnx.proto.
#pragma once

#include <cstdint>

namespace hone::onnx {

/// How a field's value is encoded. Repeated numbers may stand one by one or packed in one value.
enum class Wire : uint8_t { kVarint, kFloat, kBytes, kVarints, kFloats, kDoubles };

/// A field of a message's definition.
struct Field {
  uint32_t tag;
  Wire wire;
  const char* name;
};

/// ModelProto.
struct ModelFields {
  enum Tag : uint32_t {
    kIrVersion = 1,
    kProducer = 2,
    kProducerVersion = 3,
    kGraph = 7,
    kOpset = 8,
    kMetadata = 14,
    kTraining = 20,
    kFunction = 25,
  };
  static constexpr Field kAll[] = {
      {kIrVersion, Wire::kVarint, "ir_version"},
      {kProducer, Wire::kBytes, "producer_name"},
      {kProducerVersion, Wire::kBytes, "producer_version"},
      {kGraph, Wire::kBytes, "graph"},
      {kOpset, Wire::kBytes, "opset_import"},
      {kMetadata, Wire::kBytes, "metadata_props"},
      {kTraining, Wire::kBytes, "training_info"},
      {kFunction, Wire::kBytes, "functions"},
  };
};

/// OperatorSetIdProto.
struct OpsetFields {
  enum Tag : uint32_t { kDomain = 1, kVersion = 2 };
  static constexpr Field kAll[] = {
      {kDomain, Wire::kBytes, "domain"},
      {kVersion, Wire::kVarint, "version"},
  };
};

/// GraphProto.
struct GraphFields {
  enum Tag : uint32_t {
    kNode = 1,
    kName = 2,
    kInitializer = 5,
    kInput = 11,
    kOutput = 12,
    kValueInfo = 13,
    kSparseInitializer = 15,
  };
  static constexpr Field kAll[] = {
      {kNode, Wire::kBytes, "node"},
      {kName, Wire::kBytes, "name"},
      {kInitializer, Wire::kBytes, "initializer"},
      {kInput, Wire::kBytes, "input"},
      {kOutput, Wire::kBytes, "output"},
      {kValueInfo, Wire::kBytes, "value_info"},
      {kSparseInitializer, Wire::kBytes, "sparse_initializer"},
  };
};

/// NodeProto.
struct NodeFields {
  enum Tag : uint32_t {
    kInput = 1,
    kOutput = 2,
    kName = 3,
    kOpType = 4,
    kAttribute = 5,
    kDomain = 7,
  };
  static constexpr Field kAll[] = {
      {kInput, Wire::kBytes, "input"},         {kOutput, Wire::kBytes, "output"},
      {kName, Wire::kBytes, "name"},           {kOpType, Wire::kBytes, "op_type"},
      {kAttribute, Wire::kBytes, "attribute"}, {kDomain, Wire::kBytes, "domain"},
  };
};

/// StringStringEntryProto.
struct EntryFields {
  enum Tag : uint32_t { kKey = 1, kValue = 2 };
  static constexpr Field kAll[] = {
      {kKey, Wire::kBytes, "key"},
      {kValue, Wire::kBytes, "value"},
  };
};

/// ValueInfoProto.
struct ValueInfoFields {
  enum Tag : uint32_t { kName = 1, kType = 2 };
  static constexpr Field kAll[] = {
      {kName, Wire::kBytes, "name"},
      {kType, Wire::kBytes, "type"},
  };
};

/// TypeProto: one of these.
struct TypeFields {
  enum Tag : uint32_t {
    kTensorType = 1,
    kSequenceType = 4,
    kMapType = 5,
    kOpaqueType = 7,
    kSparseTensorType = 8,
    kOptionalType = 9,
  };
  static constexpr Field kAll[] = {
      {kTensorType, Wire::kBytes, "tensor_type"},
      {kSequenceType, Wire::kBytes, "sequence_type"},
      {kMapType, Wire::kBytes, "map_type"},
      {kOpaqueType, Wire::kBytes, "opaque_type"},
      {kSparseTensorType, Wire::kBytes, "sparse_tensor_type"},
      {kOptionalType, Wire::kBytes, "optional_type"},
  };
};

/// TypeProto.Tensor.
struct TensorTypeFields {
  enum Tag : uint32_t { kElementType = 1, kShape = 2 };
  static constexpr Field kAll[] = {
      {kElementType, Wire::kVarint, "elem_type"},
      {kShape, Wire::kBytes, "shape"},
  };
};

/// TensorShapeProto.
struct ShapeFields {
  enum Tag : uint32_t { kDim = 1 };
  static constexpr Field kAll[] = {{kDim, Wire::kBytes, "dim"}};
};

/// TensorShapeProto.Dimension: one of these, or neither.
struct DimFields {
  enum Tag : uint32_t { kValue = 1, kParameter = 2 };
  static constexpr Field kAll[] = {
      {kValue, Wire::kVarint, "dim_value"},
      {kParameter, Wire::kBytes, "dim_param"},
  };
};

/// AttributeProto.
struct AttributeFields {
  enum Tag : uint32_t {
    kName = 1,
    kF = 2,
    kI = 3,
    kS = 4,
    kT = 5,
    kG = 6,
    kFloats = 7,
    kInts = 8,
    kStrings = 9,
    kTensors = 10,
    kGraphs = 11,
    kTp = 14,
    kTypeProtos = 15,
    kType = 20,
    kReference = 21,
    kSparseTensor = 22,
    kSparseTensors = 23,
  };
  static constexpr Field kAll[] = {
      {kName, Wire::kBytes, "name"},
      {kF, Wire::kFloat, "f"},
      {kI, Wire::kVarint, "i"},
      {kS, Wire::kBytes, "s"},
      {kT, Wire::kBytes, "t"},
      {kG, Wire::kBytes, "g"},
      {kFloats, Wire::kFloats, "floats"},
      {kInts, Wire::kVarints, "ints"},
      {kStrings, Wire::kBytes, "strings"},
      {kTensors, Wire::kBytes, "tensors"},
      {kGraphs, Wire::kBytes, "graphs"},
      {kTp, Wire::kBytes, "tp"},
      {kTypeProtos, Wire::kBytes, "type_protos"},
      {kType, Wire::kVarint, "type"},
      {kReference, Wire::kBytes, "ref_attr_name"},
      {kSparseTensor, Wire::kBytes, "sparse_tensor"},
      {kSparseTensors, Wire::kBytes, "sparse_tensors"},
  };
};

/// TensorProto.
struct TensorFields {
  enum Tag : uint32_t {
    kDims = 1,
    kType = 2,
    kSegment = 3,
    kFloats = 4,
    kInt32s = 5,
    kStrings = 6,
    kInt64s = 7,
    kName = 8,
    kRaw = 9,
    kDoubles = 10,
    kUint64s = 11,
    kExternal = 13,
    kLocation = 14,
  };
  static constexpr Field kAll[] = {
      {kDims, Wire::kVarints, "dims"},
      {kType, Wire::kVarint, "data_type"},
      {kSegment, Wire::kBytes, "segment"},
      {kFloats, Wire::kFloats, "float_data"},
      {kInt32s, Wire::kVarints, "int32_data"},
      {kStrings, Wire::kBytes, "string_data"},
      {kInt64s, Wire::kVarints, "int64_data"},
      {kName, Wire::kBytes, "name"},
      {kRaw, Wire::kBytes, "raw_data"},
      {kDoubles, Wire::kDoubles, "double_data"},
      {kUint64s, Wire::kVarints, "uint64_data"},
      {kExternal, Wire::kBytes, "external_data"},
      {kLocation, Wire::kVarint, "data_location"},
  };
};

}  // namespace hone::onnx
