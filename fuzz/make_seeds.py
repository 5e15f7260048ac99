#!/usr/bin/env python3
"""Writes the seeds of fuzz/corpus anew: small whole files of each format, and a few that are refused. Python's own modules are enough.

A file whose name begins with "good" must be read and every other one refused (tests/fuzz). Files that fuzzing found are kept beside these
and are not touched.
"""
import gzip
import json
import pathlib
import shutil
import struct
import zlib

here = pathlib.Path(__file__).parent
corpus = here / "corpus"
fixtures = here.parent / "tests/files/fixtures"


def write(target, name, content):
    folder = corpus / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)


def study():
    good = """seeds = [1, 2]
[base]
epochs = 20
[axes]
method = ["dp-sgd", { label = "FO", method = "fo-dp-sgd", beta = 0.9 }]
[tune]
option = "lr"
by = ["method"]
grid = [1, 2]
validation = 50
[[tables]]
name = "final"
rows = ["method"]
[[figures]]
name = "kernel"
kind = "kernel"
alpha = [0.5]
lambda = [0]
window = 8
[[claims]]
text = "better"
better = { method = "FO" }
worse = { method = "dp-sgd" }
"""
    write("study", "good.toml", good)
    write("study", "bad-axis.toml", good.replace('rows = ["method"]', 'rows = ["metod"]'))
    axes = "".join(f"a{i} = [1, 2, 3, 4, 5, 6, 7, 8, 9]\n" for i in range(9))
    write("study", "bad-too-many-runs.toml", "[axes]\n" + axes)


def records():
    line = '{"study":"s","key":"k","status":"done","run":{"method":"m"},"curve":[{"epoch":1,"test_accuracy":0.5}]}'
    write("records", "good", line + "\n" + line + "\n")
    write("records", "good-columns", line.replace('[{"epoch":1,"test_accuracy":0.5}]', '{"epoch":[1,2],"test_accuracy":[0.5,0.6]}') + "\n")
    write("records", "bad-no-run", line.replace('"run"', '"ran"') + "\n")
    write("records", "bad-checksum", "#" + line[:-1] + ',"check":"0123456789abcdef"}\n')
    write("records", "good-torn", "#" + line[:40])
    write("records", "bad-deep", '{"study":"s","key":"k","status":"done","run":{"m":' + "[" * 2000 + "]" * 2000 + "}}\n")


def idx():
    images = struct.pack(">4I", 0x803, 2, 2, 3) + bytes(range(12))
    labels = struct.pack(">2I", 0x801, 2) + bytes([3, 0])

    def pair(packed, labels, images):
        return bytes([packed]) + struct.pack("<H", len(labels)) + labels + images

    def pack(content):
        return gzip.compress(content, mtime=0)

    write("idx", "good-plain", pair(0, labels, images))
    write("idx", "good-packed", pair(1, pack(labels), pack(images)))
    write("idx", "good-two-streams", pair(1, pack(labels), pack(images[:10]) + pack(images[10:])))
    write("idx", "bad-label", pair(0, labels[:-1] + b"\4", images))
    write("idx", "bad-cut", pair(0, labels, images[:-1]))
    many = struct.pack(">4I", 0x803, 2**32 - 1, 2, 3)
    write("idx", "bad-count", pair(0, labels, many))
    write("idx", "bad-count-packed", pair(1, pack(labels), pack(many + bytes(100_000))))


def cifar():
    write("cifar", "good-10", bytes([0]) + (bytes([3]) + bytes(range(12))) * 2)
    write("cifar", "good-100", bytes([1]) + bytes([19, 3]) + bytes(range(12)))
    write("cifar", "bad-label", bytes([0]) + bytes([4]) + bytes(range(12)))


def mat():
    def element(kind, content):
        return struct.pack("<2I", kind, len(content)) + content + bytes(-len(content) % 8)

    def array(name, kind, dims, values):
        flags = element(6, struct.pack("<2I", kind, 0))
        shape = element(5, struct.pack(f"<{len(dims)}i", *dims))
        stored = (9, struct.pack(f"<{len(values)}d", *values)) if kind == 6 else (2, bytes(values))
        return element(14, flags + shape + element(1, name.encode()) + element(*stored))

    def packed(variable):
        content = zlib.compress(variable)
        return struct.pack("<2I", 15, len(content)) + content

    header = b"MATLAB 5.0 MAT-file".ljust(124) + b"\0\1IM"
    x, y = array("X", 9, [2, 2, 3, 2], range(24)), array("y", 9, [2, 1], [1, 4])
    write("mat", "good-plain", header + x + y)
    write("mat", "good-packed", header + packed(x) + packed(y))
    write("mat", "good-double", header + array("y", 6, [2, 1], [1, 4]) + x)
    small_name = struct.pack("<I", 1 << 16 | 1) + b"y\0\0\0"  # an element of at most 4 bytes may stand in its tag
    whole_name = element(1, b"y")
    write("mat", "good-small-name", header + x + array("y", 9, [2, 1], [1, 4]).replace(whole_name, small_name).replace(
        struct.pack("<I", len(y) - 8), struct.pack("<I", len(y) - 16)))
    write("mat", "bad-label", header + x + array("y", 9, [2, 1], [1, 5]))
    write("mat", "bad-count", header + array("X", 9, [2, 2, 3, 2**31 - 1], range(24)) + y)


def models():
    for name in ("good_by_hand", "sequential_torch_1_13", "sequential_torch_2_13", "mixed", "parameters"):
        content = (fixtures / f"{name}.pt").read_bytes()
        write("pt", f"good-{name.replace('_', '-')}", content)
        fits = name.startswith(("sequential", "parameters"))  # the storages of fuzz/pickle.cpp
        write("pickle", f"{'good' if fits else 'other'}-{name.replace('_', '-')}", record(content, "data.pkl"))
    for name in ("hostile_eval", "storage_too_long", "size_absurd", "stride_outside"):
        write("pt", f"bad-{name.replace('_', '-')}", (fixtures / f"{name}.pt").read_bytes())
    for name in ("sequential", "mixed"):
        shutil.copy(fixtures / f"{name}.safetensors", folder("safetensors") / f"good-{name}")


def folder(target):
    (corpus / target).mkdir(parents=True, exist_ok=True)
    return corpus / target


def record(archive, name):
    import io
    import zipfile
    with zipfile.ZipFile(io.BytesIO(archive)) as files:
        return files.read(next(entry for entry in files.namelist() if entry.endswith(name)))


def config():
    write("config", "good.toml", 'method = "dp-sgd"\nsample_rate = 0.04\nsteps = 1e3\nhidden = [64, 32]\nquiet = true\nbeta = ".9:.6"\n'
          "lr = \"1,2,3\"\n# a comment\nsvg = '''\ntext'''\n")
    write("config", "good.json", json.dumps({"method": "dp-sgd", "lr": 0.5, "hidden": [64, 32], "out": None, "json": True}))
    write("config", "good-record.json", json.dumps({"lr": 0.5, "steps": 7, "derived": ["steps"], "filled": ["lr"], "out": "runs/a"}))
    write("config", "bad.toml", "a = [1, {b = 2}]\n[c]\nd.e = 1979-05-27\n")


def events():
    step = {"sample_rate": 0.04, "noise_multiplier": 1.1, "beta": 0.9, "steps": 100}
    event = {"kind": "poisson_gaussian", "sample_rate": 0.1, "effective_noise_multiplier": 2, "count": 7, "slack": 0.0001}
    ramp = dict(event, sample_rate={"first": 0.1, "last": 0.2, "weight": 2}, count=40)
    summary = {"event": [event, ramp, dict(event, kind="gaussian", sample_rate=1)], "delta": 1e-5, "accountant": "rdp", "insecure": ["a seed"]}
    write("events", "good-list", json.dumps([step, {**step, "steps": 5}]))
    write("events", "good-summary", json.dumps(summary))
    write("events", "good-old-summary", json.dumps({**summary, "sensitivity_slack": 0.001, "event": [{k: v for k, v in event.items() if k != "slack"}]}))
    write("events", "bad-field", json.dumps([{**step, "step": 1}]))


def checkpoint():
    def value(name, kind, content):
        return struct.pack("<Q", len(name)) + name.encode() + bytes([kind]) + content

    values = value("flag", 0, b"\1") + value("step", 1, struct.pack("<q", -5)) + value("count", 2, struct.pack("<Q", 9))
    values += value("floats", 4, struct.pack("<Q2f", 2, 1.5, -2)) + value("text", 6, struct.pack("<Q", 3) + b"abc")
    write("checkpoint", "good", values)
    write("checkpoint", "good-empty-list", value("doubles", 5, struct.pack("<Q", 0)))
    write("checkpoint", "bad-length", value("floats", 4, struct.pack("<Q", 2**62)))
    write("checkpoint", "bad-checksum", b"fodp state 1\n" + values + bytes(32))


def ledger():
    event = {"kind": "poisson_gaussian", "sample_rate": 0.1, "effective_noise_multiplier": 2, "count": 7, "slack": 0.0001}
    header = {"fodp_ledger": 1, "run": "0" * 32, "version": "0", "date": "", "delta": 1e-5, "accountant": "pld", "insecure": [],
              "data_fingerprint": "", "earlier": [], "plan": [event, dict(event, sample_rate=0.2)]}
    block = {"from": 0, "to": 1, "each": 2}
    lines = [header, {"reserve": block}, {"event": dict(event, sample_rate=0.3, count=1)}, {"reserve": {"from": 2, "to": 2, "each": 1}},
             {"give_back": block}, {"again": block}, {"dropped": block}]
    write("ledger", "good", "\n".join(json.dumps(line) for line in lines))
    write("ledger", "bad-range", "\n".join(json.dumps(line) for line in [header, {"reserve": {"from": 1, "to": 5, "each": 1}}]))
    write("ledger", "bad-checksum", "#" + json.dumps(header) + " 0123456789abcdef\n{}\n")


def table():
    schema = """missing = "?"
comment = "#"
[columns.a]
kind = "number"
low = 0
high = 10
log = true
if_missing = "indicator"
[columns.b]
kind = "category"
values = ["x", "y z"]
[columns.c]
kind = "date"
format = "%Y-%m-%d"
low = "2000-01-01"
high = "2020-01-01"
[columns.who]
kind = "unit"
[columns.y]
kind = "label"
values = ["no", "yes"]
trim = "."
"""
    rows = 'a,b,c,who,y\r\n1,x,2001-02-03,p,no\n#note\n?,"y z",2002-01-01,"q ""r""",yes.\n'
    numbers = 'header = false\nseparator = ";"\n[columns.x]\nkind = "number"\nlow = -1\nhigh = 1\n[columns.y]\nkind = "label"\nlow = 0\nhigh = 9\n'
    write("table", "good", schema + "\0" + rows)
    write("table", "good-numbers", numbers + "\0" + "\ufeff.5;3\n2;-4e300\n")
    write("table", "bad-schema", schema.replace("unit", "untie") + "\0" + rows)
    write("table", "bad-date", schema + "\0" + rows.replace("2001-02-03", "2001-02-3x"))
    write("table", "bad-quote", schema + "\0" + rows + '1,"x')
    write("table", "bad-fields", numbers + "\0" + "1;2;3\n")


def npy_file(kind, shape, content, order="False"):
    header = f"{{'descr': '{kind}', 'fortran_order': {order}, 'shape': {shape}, }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header + content


def npy():
    write("npy", "good-floats", npy_file("<f4", "(2, 3)", struct.pack("<6f", *range(6))))
    write("npy", "good-big-endian", npy_file(">i8", "(3,)", struct.pack(">3q", 1, -2, 3)))
    write("npy", "good-halves", npy_file("<f2", "(2, 1)", struct.pack("<2e", 1, -2)))
    write("npy", "good-bytes", npy_file("|u1", "(2, 2, 2)", bytes(range(8))))
    write("npy", "bad-objects", npy_file("|O", "(1,)", b"\x80\4N."))
    write("npy", "bad-fortran", npy_file("<f4", "(2, 3)", bytes(24), "True"))
    write("npy", "bad-cut", npy_file("<f4", "(2, 3)", bytes(23)))
    write("npy", "bad-size", npy_file("<f8", "(281474976710656, 65536)", bytes(8)))


def npz():
    import io
    import zipfile

    def archive(arrays, packed):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED) as files:
            for name, content in arrays.items():
                files.writestr(zipfile.ZipInfo(name + ".npy"), content, zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED)
        return buffer.getvalue()

    x, y = npy_file("<f4", "(2, 3)", struct.pack("<6f", *range(6))), npy_file("<i8", "(2,)", struct.pack("<2q", 2, 0))
    write("npz", "good-plain", archive({"x": x, "y": y}, False))
    write("npz", "good-packed", archive({"inputs": x, "labels": y}, True))
    write("npz", "good-images", archive({"images": npy_file("|u1", "(2, 4, 4)", bytes(range(32))), "y": y}, True))
    write("npz", "bad-label", archive({"x": x, "y": npy_file("<i8", "(2,)", struct.pack("<2q", 3, 0))}, False))
    write("npz", "bad-names", archive({"arr_0": x, "arr_1": y}, False))
    write("npz", "bad-cut", archive({"x": x, "y": y}, False)[:-10])
    write("npz", "bad-not-finite", archive({"x": npy_file("<f4", "(2, 1)", struct.pack("<2f", 1, float("nan"))), "y": y}, False))
    write("npz", "bad-sizes", archive({"x": npy_file("|u1", "(2, 2147483648)", bytes(64)), "y": y}, True))


def image():
    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    def png(width, height, bits, color, lines, more=b"", interlaced=0):
        header = struct.pack(">2I5B", width, height, bits, color, 0, 0, interlaced)
        return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + more + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b""))

    rgb = b"".join(b"\0" + bytes(range(y, y + 12)) for y in range(3))
    write("image", "good-color.png", png(4, 3, 8, 2, rgb))
    write("image", "good-bits.png", png(9, 2, 1, 0, bytes([0, 0xaa, 0x80, 0, 0x55, 0])))
    write("image", "good-16.png", png(2, 1, 16, 4, bytes(range(9))))
    write("image", "good-palette.png", png(4, 1, 2, 3, bytes([0, 0x1b]), chunk(b"PLTE", bytes(range(12))) + chunk(b"tRNS", b"\0\x80")))
    write("image", "good-interlaced.png", png(2, 2, 8, 0, bytes([0, 1, 0, 2, 0, 3, 4]), interlaced=1))
    write("image", "bad-cut.png", png(4, 3, 8, 2, rgb)[:60])
    write("image", "bad-bomb.png", png(8000, 8000, 8, 2, rgb))
    write("image", "bad-huge.png", png(2**31 - 1, 2**31 - 1, 8, 2, rgb))
    write("image", "bad-gif", b"GIF89a")
    # Python has no writer of JPEG files; these three are kept.
    for name in ("good-color.jpg", "good-gray.jpg", "good-progressive.jpg"):
        content = (corpus / "image" / name).read_bytes()
        write("image", "bad-cut-" + name.removeprefix("good-"), content[:-20])
    write("image", "bad-jpeg-bomb.jpg", (corpus / "image/good-gray.jpg").read_bytes().replace(
        b"\xff\xc0\0\x0b\x08\0\x08\0\x08", b"\xff\xc0\0\x0b\x08\xff\xff\xff\xff"))


for seeds in (idx, cifar, mat, models, config, events, checkpoint, ledger, study, records, table, npy, npz, image):
    seeds()
