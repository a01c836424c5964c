# SPDX-License-Identifier: Apache-2.0
"""Times the problems of a file, a line each, with PyTorch on a GPU: as it is, compiled by
torch.compile (whose kernels are Triton's), and with its fused attention. A JSON object a line on
stdout; problems that it does not know are left out."""
import json
import re
import sys

import torch
import torch.nn.functional as F

TYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "i8": torch.int8}


def dims_of(text):
    return {k: int(v) for k, v in re.findall(r" ([A-Z])=(\d+)", text)}


def random(shape, dtype):
    if dtype == torch.int8:
        return torch.randint(-128, 127, shape, dtype=dtype, device="cuda")
    return torch.rand(shape, device="cuda", dtype=torch.float32).mul(2).sub(1).to(dtype)


def bag(e, ids, offsets):
    return F.embedding_bag(ids, e, offsets[:-1], mode="sum")


def known(op, d, t):
    """The function of an op and what makes its arguments, or None."""
    n = lambda *names: [d[x] for x in names]
    r = lambda *names: (lambda: random(n(*names), t))
    if op == "chain":
        return (lambda a, b, c: torch.tanh(F.relu(a * b + c)) * a), [r("N")] * 3
    if op in ("relu", "gelu"):
        return getattr(F, op), [r("N")]
    if op == "copy":
        return (lambda x: x.clone()), [r("N")]
    if op == "add":
        return torch.add, [r("N"), r("N")]
    if op == "convert":
        return (lambda x: x.to(torch.bfloat16)), [r("N")]
    if op == "bias_gelu":
        return (lambda x, b: F.gelu(x + b)), [r("M", "N"), r("N")]
    rows = {
        "row_sum": lambda x: x.sum(1), "row_max": lambda x: x.amax(1),
        "row_argmax": lambda x: x.argmax(1), "column_sum": lambda x: x.sum(0),
        "sum_all": lambda x: x.sum(), "softmax": lambda x: x.softmax(1),
        "log_softmax": lambda x: x.log_softmax(1), "transpose": lambda x: x.t().contiguous(),
    }
    if op in rows:
        return rows[op], [r("M", "N")]
    if op == "layernorm":
        return (lambda x, g, b: F.layer_norm(x, x.shape[1:], g, b)), [r("M", "N"), r("N"), r("N")]
    if op == "rmsnorm":
        return (lambda x, g: x * torch.rsqrt(x.pow(2).mean(1, keepdim=True) + 1e-5) * g), \
            [r("M", "N"), r("N")]
    if op == "matmul":
        return torch.matmul, [r("M", "K"), r("K", "N")]
    if op == "batched_matmul":
        return torch.matmul, [r("B", "M", "K"), r("B", "K", "N")]
    if op in ("fc_gelu", "fc_relu"):
        act = F.gelu if op == "fc_gelu" else F.relu
        return (lambda a, w, b: act(a @ w + b)), [r("M", "K"), r("K", "N"), r("N")]
    if op == "attention":
        return F.scaled_dot_product_attention, \
            [r("B", "H", "S", "D"), r("B", "H", "L", "D"), r("B", "H", "L", "D")]
    if op == "causal_attention":
        return (lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True)), \
            [r("B", "H", "S", "D")] * 3
    if op == "embedding_bag":
        ids = lambda: torch.randint(0, d["R"], (d["L"],), device="cuda")
        offsets = lambda: torch.arange(0, d["B"] + 1, device="cuda") * (d["L"] // d["B"])
        return bag, [r("R", "D"), ids, offsets]
    if op == "conv2d":
        stride, pad = d.get("S", 1), d.get("P", 0)
        return (lambda x, f, b: F.conv2d(x, f, b, stride, pad)), \
            [r("N", "C", "H", "W"), r("O", "C", "R", "Q"), r("O")]
    return None


def median_us(function, sets):
    for s in sets[:2]:
        function(*s)
    times = []
    for sample in range(15):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        count = max(len(sets), 3)
        begin.record()
        for i in range(count):
            function(*sets[i % len(sets)])
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 1e3 / count)
    return sorted(times)[len(times) // 2]


def sets_of(make):
    one = [m() for m in make]
    size = sum(x.numel() * x.element_size() for x in one)
    cache = torch.cuda.get_device_properties(0).L2_cache_size
    room = torch.cuda.get_device_properties(0).total_memory // 3
    count = max(1, min(4 * cache // size + 2, room // size, 64))
    return [one] + [[m() for m in make] for _ in range(count - 1)]


def main():
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    for line in open(sys.argv[1]):
        text = line.strip()
        op = re.match(r"op (\w+)|(\w+)", text)
        op = op.group(1) or op.group(2)
        tail = text.rsplit("}", 1)[-1]
        dtype = re.search(r" T=(\w+)", tail)
        dtype = TYPES.get(dtype.group(1) if dtype else "f32")
        found = known(op, dims_of(" " + tail), dtype) if dtype else None
        if not found:
            continue
        function, make = found
        contenders = [("torch", function), ("torch.compile", torch.compile(function))]
        for i, (name, f) in enumerate(contenders):
            row = {"problem": text, "contender": name, "last": i + 1 == len(contenders)}
            try:
                with torch.no_grad():
                    row["us"] = median_us(f, sets_of(make))
            except Exception as e:  # one problem's trouble is not the next one's
                row["error"] = str(e).split("\n")[0]
            print(json.dumps(row), flush=True)
            torch.cuda.empty_cache()


main()
