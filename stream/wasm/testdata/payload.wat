;; A guest of the benchmarks: has the payload copied to its buffer, and adds it up in words of 8 bytes.
(module
  (import "ferry" "buffer" (func $buffer (param i32 i32)))
  (memory (export "memory") 18)
  (global $sum (export "sum") (mut i64) (i64.const 0))
  (func (export "_initialize") (call $buffer (i32.const 65536) (i32.const 1048576)))
  (func (export "ferry_handle") (param $size i32) (param $type i32) (result i32)
    (local $at i32) (local $end i32) (local $sum i64)
    (local.set $at (i32.const 65536))
    (local.set $end (i32.add (local.get $at) (i32.and (local.get $size) (i32.const -8))))
    (block $done
      (loop $again
        (br_if $done (i32.ge_u (local.get $at) (local.get $end)))
        (local.set $sum (i64.add (local.get $sum) (i64.load (local.get $at))))
        (local.set $at (i32.add (local.get $at) (i32.const 8)))
        (br $again)))
    (global.set $sum (local.get $sum))
    (i64.eqz (local.get $sum))))
