;; Reads one number of the message and compares it with 42. 0 means that they are equal.
(module
  (import "ferry" "path" (func $path (param i32 i32 i32) (result i32)))
  (import "ferry" "lookup" (func $lookup (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "value")
  (global $value (mut i32) (i32.const 0))
  (func (export "_initialize")
    (global.set $value (call $path (i32.const 0) (i32.const 5) (i32.const 0))))
  (func (export "ferry_handle") (param $size i32) (param $type i32) (result i32)
    (drop (call $lookup (global.get $value) (i32.const 64) (i32.const 0) (i32.const 0)))
    (i64.ne (i64.load (i32.const 64)) (i64.const 42))))
