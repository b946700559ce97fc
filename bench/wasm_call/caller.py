"""Calls the guest that hashes through wasmtime: payload.wasm, a size in bytes, a time in seconds.

Prints ns and ns of CPU time a call, once a wrong message was found wrong.
"""

import sys
import time

import wasmtime

AT = 65536


def message(size: int) -> bytearray:
    b = bytearray(i * 7 & 0xFF for i in range(size))
    h = 2166136261
    for c in b[4:]:
        h = (h ^ c) * 16777619 & 0xFFFFFFFF
    b[:4] = h.to_bytes(4, "little")
    return b


def main() -> None:
    file, size, budget = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    store = wasmtime.Store()
    linker = wasmtime.Linker(store.engine)
    i32 = wasmtime.ValType.i32()
    linker.define_func("ferry", "buffer", wasmtime.FuncType([i32, i32], []), lambda at, size: None)
    exports = linker.instantiate(store, wasmtime.Module.from_file(store.engine, file)).exports(store)
    memory, handle = exports["memory"], exports["ferry_handle"]
    right = message(size)

    def call(b: bytearray) -> int:
        memory.write(store, b, AT)
        return handle(store, len(b), 0)

    wrong = bytearray(right)
    wrong[0] ^= 1
    if call(right) != 0 or call(wrong) == 0:
        sys.exit("the guest does not tell a right message from a wrong one")
    n, calls, spent, cpu = 1, 0, 0, 0
    while spent < budget * 1e9:
        begin, begin_cpu = time.perf_counter_ns(), time.process_time_ns()
        for _ in range(n):
            if call(right) != 0:
                sys.exit("a right message was found wrong")
        spent += time.perf_counter_ns() - begin
        cpu += time.process_time_ns() - begin_cpu
        calls += n
        n = min(2 * n, 1 << 16)
    print(spent / calls, cpu / calls)


main()
