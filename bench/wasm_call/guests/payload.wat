;; Compares the first 4 bytes of the payload with the FNV-1a hash of the others. 0 means that they are equal.
(module
  (import "ferry" "buffer" (func $buffer (param i32 i32)))
  (memory (export "memory") 18)
  (func (export "_initialize") (call $buffer (i32.const 65536) (i32.const 1048576)))
  (func (export "ferry_handle") (param $size i32) (param $type i32) (result i32)
    (local $at i32) (local $end i32) (local $hash i32)
    (local.set $at (i32.const 65540))
    (local.set $end (i32.add (i32.const 65536) (local.get $size)))
    (local.set $hash (i32.const 0x811c9dc5))
    (loop $again
      (local.set $hash (i32.mul (i32.xor (local.get $hash) (i32.load8_u (local.get $at))) (i32.const 0x01000193)))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (br_if $again (i32.lt_u (local.get $at) (local.get $end))))
    (i32.ne (local.get $hash) (i32.load (i32.const 65536)))))
