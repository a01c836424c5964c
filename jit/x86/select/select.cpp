// SPDX-License-Identifier: Apache-2.0
#include "jit/x86/select/select.h"

#include <utility>

#include "jit/x86/select/selector.h"
#include "jit/x86/select/values.h"

namespace hone::jit {

namespace {

/// The parts of one selection, in the order in which they build on one another.
class Selection final : public Root {
 public:
  Selection(const ir::Nest& nest, const ir::Launch& launch, const ir::Target& target)
      : context_(nest, launch, target) {
    context_.root = this;
  }

  Result<Lir, ir::Reject> run() {
    try {
      selector_.run();
    } catch (ir::Reject& why) {
      why.reason = context_.launch.name + ": " + why.reason;
      return std::move(why);
    }
    return std::move(context_.code.lir);
  }

 private:
  void walk(const ir::Stmt& s) override { selector_.walk(s); }
  Value value(const ir::Expr& e) override { return values_.value(e); }
  Reg integer(const ir::Expr& e) override { return integers_.integer(e); }

  Context context_;
  GeneralOps general_{context_};
  Indices indices_{context_, general_};
  Addresses addresses_{context_, indices_};
  Integers integers_{context_, general_, indices_, addresses_};
  Vectors vectors_{context_, general_};
  Masks masks_{context_, vectors_};
  Converter converter_{context_, vectors_, masks_};
  LaneArithmetic arithmetic_{context_, vectors_, masks_, converter_};
  Divisions divisions_{context_, vectors_, masks_, converter_};
  LaneFolds folds_{context_, vectors_, masks_, arithmetic_};
  Conditions conditions_{context_, indices_, integers_, vectors_, masks_, arithmetic_};
  Streams streams_{context_, indices_, addresses_};
  Spreads spreads_{context_, indices_, addresses_, masks_};
  Gathers gathers_{context_, addresses_, vectors_, masks_, spreads_};
  Memory memory_{context_, addresses_, vectors_, masks_, streams_, gathers_};
  Transposes transposes_{context_};
  Tiles tiles_{context_, vectors_, masks_, transposes_};
  Positions positions_{context_, indices_, addresses_, vectors_, masks_, arithmetic_, gathers_};
  Tables tables_{context_, indices_, vectors_, spreads_};
  Guards guards_{context_, indices_};
  Loads loads_{context_, indices_, addresses_, integers_, vectors_,   masks_,  conditions_,
               guards_,  spreads_, gathers_,   memory_,   positions_, tables_, tiles_};
  Calls calls_{context_, vectors_, masks_, converter_, arithmetic_};
  DotExcess excess_{context_, vectors_};
  Dots dots_{context_, indices_, addresses_, vectors_, masks_, memory_, excess_};
  LaneSums sums_{context_, indices_, vectors_, masks_, arithmetic_, folds_, memory_, tiles_, dots_};
  LaneScans scans_{context_, indices_, addresses_, vectors_, masks_, arithmetic_, memory_};
  GroupStores groups_{context_, indices_, addresses_, vectors_};
  Stores stores_{context_,    indices_, conditions_, masks_, arithmetic_, memory_,
                 transposes_, tiles_,   dots_,       sums_,  scans_};
  Surveys surveys_{context_, indices_, gathers_};
  Loops loops_{context_, indices_, sums_};
  Vectorizer vectorizer_{context_, indices_, tiles_, sums_, surveys_, loops_};
  Values values_{context_,   indices_,    vectors_, masks_, converter_, arithmetic_,
                 divisions_, conditions_, memory_,  loads_, calls_};
  Selector selector_{context_, indices_, integers_, masks_, conditions_,
                     streams_, loads_,   excess_,   dots_,  sums_,
                     groups_,  stores_,  surveys_,  loops_, vectorizer_};
};

}  // namespace

Result<Lir, ir::Reject> select(const ir::Nest& nest, const ir::Launch& launch,
                               const ir::Target& target) {
  if (target.vector_bytes() == 0) {
    return ir::Reject("the target has no AVX2; accepted: isa=avx2 or isa=avx512",
                      ir::Reject::kRefused);
  }
  return Selection(nest, launch, target).run();
}

}  // namespace hone::jit
