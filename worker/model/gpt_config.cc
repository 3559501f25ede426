#include "worker/model/gpt_config.h"

#include <cassert>
#include <string>

#include "absl/strings/str_cat.h"

namespace muster::worker {

GptConfig GptConfig::FromSpec(const v1::ModelSpec& spec) {
  return {spec.layers(), spec.heads(), spec.channels(), spec.vocab(), spec.context()};
}

std::vector<UnitSpec> GptUnits(const GptConfig& config) {
  const int64_t c = config.channels;
  std::vector<UnitSpec> units;
  units.push_back({"embedding", {{"wte.weight", {config.vocab, c}}, {"wpe.weight", {config.context, c}}}});
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    const std::string h = absl::StrCat("h.", layer);
    units.push_back({h,
                     {
                         {h + ".ln_1.weight", {c}},
                         {h + ".ln_1.bias", {c}},
                         {h + ".attn.c_attn.weight", {c, 3 * c}},
                         {h + ".attn.c_attn.bias", {3 * c}},
                         {h + ".attn.c_proj.weight", {c, c}},
                         {h + ".attn.c_proj.bias", {c}},
                         {h + ".ln_2.weight", {c}},
                         {h + ".ln_2.bias", {c}},
                         {h + ".mlp.c_fc.weight", {c, 4 * c}},
                         {h + ".mlp.c_fc.bias", {4 * c}},
                         {h + ".mlp.c_proj.weight", {4 * c, c}},
                         {h + ".mlp.c_proj.bias", {c}},
                     }});
    assert(units.back().tensors.size() == kTensorsPerBlock);
  }
  units.push_back({"head", {{"ln_f.weight", {c}}, {"ln_f.bias", {c}}}});
  return units;
}

}  // namespace muster::worker
