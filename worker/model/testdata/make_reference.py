#!/usr/bin/python3
"""Writes gpt_reference.bin: a small GPT-2's weights, tokens, loss and gradients as PyTorch computes them.

Debian's python3-torch is enough; run it in this folder. The model is written out here with plain tensor operations, so
that what is compared is two implementations, not one library twice.

Format, little-endian: int32 layers, heads, channels, vocab, context, batch; int32 tokens[batch][context + 1];
float64 mean loss; then for each tensor, in GptUnits' order: float32 weights, float32 gradient of the mean loss.
"""

import math
import struct

import torch
import torch.nn.functional as F

LAYERS, HEADS, CHANNELS, VOCAB, CONTEXT, BATCH = 2, 3, 24, 29, 70, 3


def shapes():
    c = CHANNELS
    yield "wte", (VOCAB, c)
    yield "wpe", (CONTEXT, c)
    for i in range(LAYERS):
        for name, shape in [
            ("ln_1.weight", (c,)), ("ln_1.bias", (c,)),
            ("c_attn.weight", (c, 3 * c)), ("c_attn.bias", (3 * c,)),
            ("attn.c_proj.weight", (c, c)), ("attn.c_proj.bias", (c,)),
            ("ln_2.weight", (c,)), ("ln_2.bias", (c,)),
            ("c_fc.weight", (c, 4 * c)), ("c_fc.bias", (4 * c,)),
            ("mlp.c_proj.weight", (4 * c, c)), ("mlp.c_proj.bias", (c,)),
        ]:
            yield f"h.{i}.{name}", shape
    yield "ln_f.weight", (c,)
    yield "ln_f.bias", (c,)


def norm(w, name, x):
    return F.layer_norm(x, (CHANNELS,), w[name + ".weight"], w[name + ".bias"], 1e-5)


def gelu(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def loss_of(w, tokens, targets):
    x = w["wte"][tokens] + w["wpe"]
    later = torch.triu(torch.ones(CONTEXT, CONTEXT, dtype=torch.bool), 1)
    for i in range(LAYERS):
        h = f"h.{i}."
        qkv = norm(w, h + "ln_1", x) @ w[h + "c_attn.weight"] + w[h + "c_attn.bias"]
        q, k, v = (part.view(BATCH, CONTEXT, HEADS, -1).transpose(1, 2) for part in qkv.split(CHANNELS, 2))
        scores = (q @ k.transpose(2, 3) / math.sqrt(CHANNELS // HEADS)).masked_fill(later, -math.inf)
        y = (scores.softmax(3) @ v).transpose(1, 2).reshape(BATCH, CONTEXT, CHANNELS)
        x = x + y @ w[h + "attn.c_proj.weight"] + w[h + "attn.c_proj.bias"]
        y = gelu(norm(w, h + "ln_2", x) @ w[h + "c_fc.weight"] + w[h + "c_fc.bias"])
        x = x + y @ w[h + "mlp.c_proj.weight"] + w[h + "mlp.c_proj.bias"]
    logits = norm(w, "ln_f", x) @ w["wte"].t()
    return F.cross_entropy(logits.reshape(-1, VOCAB), targets.reshape(-1))


def main():
    torch.manual_seed(20240917)
    # Weights are fp32 values; the computation is in fp64, so that the reference has no rounding of its own.
    weights = {}
    for name, shape in shapes():
        value = torch.randn(shape) * 0.3 + (1 if name.endswith(".weight") and len(shape) == 1 else 0)
        weights[name] = value.double().requires_grad_()
    sample = torch.randint(0, VOCAB, (BATCH, CONTEXT + 1))
    loss = loss_of(weights, sample[:, :-1], sample[:, 1:])
    loss.backward()
    with open("gpt_reference.bin", "wb") as file:
        file.write(struct.pack("<6i", LAYERS, HEADS, CHANNELS, VOCAB, CONTEXT, BATCH))
        file.write(sample.int().numpy().astype("<i4").tobytes())
        file.write(struct.pack("<d", loss.item()))
        for value in weights.values():
            file.write(value.detach().numpy().astype("<f4").tobytes())
            file.write(value.grad.numpy().astype("<f4").tobytes())


if __name__ == "__main__":
    main()
